package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks that end in a loss of sequences or volumes, against stock DL4J in FP32. */
class PositionLossTest {
    private static final int EXAMPLES = 3;
    private static final int CLASSES = 4;
    private static final double FLOAT_ERROR = 1e-5;
    private static final double HALF_ERROR = 0.03;

    enum Objective {
        CLASSES_OF_POSITIONS(LossFunction.MCXENT, Activation.SOFTMAX),
        NUMBERS_OF_CLASSES(LossFunction.SPARSE_MCXENT, Activation.SOFTMAX),
        BINARY(LossFunction.XENT, Activation.SIGMOID),
        SQUARES(LossFunction.MSE, Activation.TANH);

        private final LossFunction loss;
        private final Activation activation;

        Objective(LossFunction loss, Activation activation) {
            this.loss = loss;
            this.activation = activation;
        }
    }

    enum Mask {
        NONE,
        OF_EXAMPLES,
        OF_POSITIONS,
        OF_OUTPUTS
    }

    /** The arrays of a layer. */
    // Their sizes stay as they are.
    @SuppressWarnings("ImmutableEnumChecker")
    enum Kind {
        SEQUENCES(6),
        VOLUMES(2, 4, 3),
        VOLUMES_WITH_CHANNELS_LAST(2, 4, 3);

        private final long[] extents;

        Kind(long... extents) {
            this.extents = extents;
        }

        private Convolution3D.DataFormat format() {
            return this == VOLUMES ? Convolution3D.DataFormat.NCDHW : Convolution3D.DataFormat.NDHWC;
        }

        private InputType input() {
            return this == SEQUENCES
                    ? InputType.recurrent(5, extents[0])
                    : InputType.convolutional3D(format(), extents[0], extents[1], extents[2], 5);
        }

        private Layer hidden() {
            return this == SEQUENCES
                    ? new Convolution1DLayer.Builder(1)
                            .nOut(CLASSES)
                            .activation(Activation.IDENTITY)
                            .build()
                    : new Convolution3D.Builder(1, 1, 1)
                            .dataFormat(format())
                            .nOut(CLASSES)
                            .activation(Activation.IDENTITY)
                            .build();
        }

        private Layer loss(Objective objective) {
            if (this == SEQUENCES) {
                return new RnnLossLayer.Builder(objective.loss)
                        .activation(objective.activation)
                        .build();
            }
            Cnn3DLossLayer.Builder builder = new Cnn3DLossLayer.Builder(format());
            builder.lossFunction(objective.loss);
            builder.activation(objective.activation);
            return builder.build();
        }

        private long[] shape(long channels) {
            return this == SEQUENCES
                    ? new long[] {EXAMPLES, channels, extents[0]}
                    : new long[] {EXAMPLES, channels, extents[0], extents[1], extents[2]};
        }

        /** Returns an array, given with its channels as the second axis, in the layer's format. */
        private INDArray arranged(INDArray array) {
            return this == VOLUMES_WITH_CHANNELS_LAST
                    ? array.permute(0, 2, 3, 4, 1).dup('c')
                    : array;
        }

        private INDArray labels(Random random, Objective objective) {
            boolean numbers = objective == Objective.NUMBERS_OF_CLASSES;
            INDArray labels = Nd4j.create(DataType.FLOAT, shape(numbers ? 1 : CLASSES));
            long positions = labels.length() / EXAMPLES / labels.size(1);
            for (long i = 0; i < EXAMPLES; i++) {
                for (long position = 0; position < positions; position++) {
                    int of = random.nextInt(CLASSES);
                    labels.putScalar(
                            (i * labels.size(1) + (numbers ? 0 : of)) * positions + position, numbers ? of : 1);
                }
            }
            return arranged(labels);
        }

        private INDArray mask(Random random, Mask mask) {
            return switch (mask) {
                case NONE -> null;
                case OF_EXAMPLES ->
                    this == SEQUENCES
                            ? Nd4j.createFromArray(1f, 0, 1)
                                    .reshape(3, 1)
                                    .mul(Nd4j.ones(DataType.FLOAT, shape(1)[0], extents[0]))
                            : Nd4j.createFromArray(1f, 0, 1).reshape(3, 1, 1, 1, 1);
                case OF_POSITIONS ->
                    this == SEQUENCES ? draw(random, EXAMPLES, extents[0]) : arranged(draw(random, shape(1)));
                case OF_OUTPUTS -> arranged(draw(random, shape(CLASSES)));
            };
        }

        private static INDArray draw(Random random, long... shape) {
            return gaussian(random, 1, shape).gt(0).castTo(DataType.FLOAT);
        }

        private DataSet data(Objective objective, Mask mask) {
            Random random = new Random(9);
            INDArray features = arranged(gaussian(random, 1, shape(5)));
            return new DataSet(features, labels(random, objective), null, mask(random, mask));
        }
    }

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder()
                .seed(4)
                .updater(new Sgd(0.05))
                .l2(1e-3);
    }

    private static MultiLayerNetwork network(Kind kind, Objective objective) {
        return Networks.init(builder()
                .list()
                .layer(kind.hidden())
                .layer(kind.loss(objective))
                .setInputType(kind.input())
                .build());
    }

    private static ComputationGraph graph(Kind kind, Objective objective) {
        return Networks.init(builder()
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(kind.input())
                .addLayer("hidden", kind.hidden(), "in")
                .addLayer("out", kind.loss(objective), "hidden")
                .setOutputs("out")
                .build());
    }

    private static AmpConfig.Builder config(Precision precision) {
        return AmpConfig.builder().engine(OneDnnEngine.NAME).precision(precision);
    }

    static Stream<Arguments> cases() {
        return Stream.of(Kind.values())
                .flatMap(kind -> Stream.of(Objective.values()).flatMap(objective -> Stream.of(Mask.values())
                        // DL4J's loss of class numbers multiplies its single column by a mask of all outputs.
                        .filter(mask -> mask != Mask.OF_OUTPUTS
                                || objective == Objective.BINARY
                                || objective == Objective.SQUARES)
                        .map(mask -> Arguments.of(kind, objective, mask))));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void trainsScoresAndInfersAsStockDl4jDoes(Kind kind, Objective objective, Mask mask) {
        DataSet data = kind.data(objective, mask);
        INDArray features = data.getFeatures();
        for (Precision precision : Types.precisions()) {
            double error = precision == Precision.FLOAT ? FLOAT_ERROR : HALF_ERROR;
            MultiLayerNetwork stock = network(kind, objective);
            MultiLayerNetwork network = network(kind, objective);
            AmpConfig config = config(precision).build();
            try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
                PrecisionPlan.Row row = amp.plan().rows().get(1);
                assertEquals(OneDnnEngine.NAME, row.engine(), row.toString());
                assertEquals(Precision.FLOAT, row.precision(), row.toString());
                assertEquals(precision, row.input(), row.toString());
                for (int step = 0; step < 3; step++) {
                    stock.fit(data);
                    network.fit(data);
                    assertEquals(stock.score(), network.score(), error * stock.score(), precision + " score");
                }
                Agreement.assertWithin(precision + " parameters", stock.params(), network.params(), error);
                Agreement.assertWithin(precision + " output", stock.output(features), network.output(features), error);
                assertEquals(stock.score(data), network.score(data), error * stock.score(data));
                if (kind == Kind.SEQUENCES) {
                    Agreement.assertWithin(
                            precision + " scores",
                            stock.scoreExamples(data, true),
                            network.scoreExamples(data, true),
                            error);
                } else {
                    // DL4J expects a loss for each channel.
                    assertThrows(RuntimeException.class, () -> stock.scoreExamples(data, true));
                    assertThrows(RuntimeException.class, () -> network.scoreExamples(data, true));
                }
            }
            try (InferenceMode mode = MixedPrecision.inference(network, config)) {
                Agreement.assertWithin(precision + " output", stock.output(features), network.output(features), error);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void trainsWithAScaleAsTheEndOfAGraphAndSkipsSteps(Kind kind) {
        DataSet data = kind.data(Objective.CLASSES_OF_POSITIONS, Mask.OF_POSITIONS);
        Model stock = graph(kind, Objective.CLASSES_OF_POSITIONS);
        Model graph = graph(kind, Objective.CLASSES_OF_POSITIONS);
        Precision precision = Types.halfPrecision();
        double error = precision == Precision.FLOAT ? FLOAT_ERROR : HALF_ERROR;
        AmpConfig scaled =
                config(precision).lossScaler(new StaticLossScaler(1024)).build();
        try (MixedPrecision amp = MixedPrecision.enable((ComputationGraph) graph, scaled)) {
            Networks.fit(stock, data);
            Networks.fit(graph, data);
            INDArray before = graph.params().dup();
            DataSet broken = data.copy();
            broken.getFeatures().putScalar(1, Double.NaN);
            Networks.fit(graph, broken);
            assertEquals(before, graph.params());
            assertEquals(1, amp.stepsSkipped());
            Networks.fit(stock, data);
            Networks.fit(graph, data);
            Agreement.assertWithin("parameters", stock.params(), graph.params(), error);
        }
    }

    /** DL4J's score in this format is that of the input against itself. */
    @Test
    void leavesSequencesWithTheirFeaturesLastToDl4j() {
        MultiLayerNetwork network = Networks.init(builder()
                .list()
                .layer(new LSTM.Builder().nOut(5).dataFormat(RNNFormat.NWC).build())
                .layer(new RnnLossLayer.Builder(LossFunction.MSE)
                        .dataFormat(RNNFormat.NWC)
                        .activation(Activation.TANH)
                        .build())
                .setInputType(InputType.recurrent(5, 6, RNNFormat.NWC))
                .build());
        try (MixedPrecision amp =
                MixedPrecision.enable(network, config(Precision.FLOAT).build())) {
            PrecisionPlan.Row row = amp.plan().rows().get(1);
            assertTrue(row.reason().contains("format NWC"), row.toString());
        }
    }
}
