package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.PoolHelperVertex;
import org.deeplearning4j.nn.conf.graph.ReshapeVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.graph.rnn.ReverseTimeSeriesVertex;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Whole graphs with vertices that move or broadcast numbers, against stock DL4J in FP32. */
class VertexNetworksTest {
    private static final int EXAMPLES = 4;
    private static final int STEPS = 6;
    private static final int SIZE = 5;

    enum Kind {
        ENCODER_DECODER(graph -> graph.addInputs("in")
                .addLayer("a", lstm(SIZE, 8), "in")
                .addVertex("last", new LastTimeStepVertex("in"), "a")
                .addVertex("repeated", new DuplicateToTimeSeriesVertex("in"), "last")
                .addLayer("b", lstm(8, 8), "repeated")
                .addLayer("out", sequenceOutput(8), "b")),
        BOTH_DIRECTIONS(graph -> graph.addInputs("in")
                .addLayer("a", lstm(SIZE, 8), "in")
                .addVertex("reversed", new ReverseTimeSeriesVertex("in"), "a")
                .addLayer("b", lstm(8, 8), "reversed")
                .addVertex("again", new ReverseTimeSeriesVertex("in"), "b")
                .addVertex("both", new MergeVertex(), "a", "again")
                .addLayer("out", sequenceOutput(16), "both")),
        SIAMESE(graph -> graph.addInputs("in", "other")
                .addLayer("a", convolution(3, 8), "in")
                .addLayer("b", convolution(3, 8), "other")
                .addVertex("stacked", new StackVertex(), "a", "b")
                .addLayer("c", convolution(8, 8), "stacked")
                .addVertex("first", new UnstackVertex(0, 2), "c")
                .addVertex("second", new UnstackVertex(1, 2), "c")
                .addVertex("difference", new ElementWiseVertex(ElementWiseVertex.Op.Subtract), "first", "second")
                .addLayer("d", convolution(8, 8), "difference")
                .addLayer("pooled", new GlobalPoolingLayer(PoolingType.AVG), "d")
                .addLayer("out", output(8), "pooled")),
        SQUEEZE_AND_EXCITATION(graph -> graph.addInputs("in")
                .addLayer("a", convolution(3, 8), "in")
                .addLayer("squeezed", new GlobalPoolingLayer(PoolingType.AVG), "a")
                .addLayer("weights", dense(8, 8), "squeezed")
                .addVertex("excited", new ReshapeVertex(-1, 8, 1, 1), "weights")
                .addVertex("weighted", new ElementWiseVertex(ElementWiseVertex.Op.Product), "a", "excited")
                .addLayer("b", convolution(8, 8), "weighted")
                .addLayer("pooled", new GlobalPoolingLayer(PoolingType.AVG), "b")
                .addLayer("out", output(8), "pooled")),
        POOL_HELPER(graph -> graph.addInputs("in")
                .addLayer("a", convolution(3, 8), "in")
                .addVertex("inner", new PoolHelperVertex(), "a")
                .addLayer("b", convolution(8, 8), "inner")
                .addLayer("pooled", new GlobalPoolingLayer(PoolingType.AVG), "b")
                .addLayer("out", output(8), "pooled"));

        // Graphs are made anew by each call.
        @SuppressWarnings("ImmutableEnumChecker")
        private final Consumer<GraphBuilder> content;

        Kind(Consumer<GraphBuilder> content) {
            this.content = content;
        }

        ComputationGraph network() {
            GraphBuilder builder = new NeuralNetConfiguration.Builder()
                    .seed(7)
                    .updater(new Sgd(0.05))
                    .convolutionMode(ConvolutionMode.Same)
                    .graphBuilder();
            content.accept(builder);
            ComputationGraph network =
                    new ComputationGraph(builder.setOutputs("out").build());
            network.init();
            return network;
        }

        private boolean isOfSequences() {
            return this == ENCODER_DECODER || this == BOTH_DIRECTIONS;
        }

        MultiDataSet data() {
            Random random = new Random(3);
            if (!isOfSequences()) {
                INDArray one = gaussian(random, 1, EXAMPLES, 3, 6, 6);
                INDArray[] features = this == SIAMESE
                        ? new INDArray[] {one, gaussian(random, 1, EXAMPLES, 3, 6, 6)}
                        : new INDArray[] {one};
                return new MultiDataSet(features, new INDArray[] {gaussian(random, 1, EXAMPLES, 3)});
            }
            INDArray mask = Nd4j.ones(DataType.FLOAT, EXAMPLES, STEPS);
            for (int example = 0; example < EXAMPLES; example++) {
                for (int step = STEPS - example; step < STEPS; step++) {
                    mask.putScalar(example, step, 0);
                }
            }
            return new MultiDataSet(
                    new INDArray[] {gaussian(random, 1, EXAMPLES, SIZE, STEPS)},
                    new INDArray[] {gaussian(random, 1, EXAMPLES, 3, STEPS)},
                    new INDArray[] {mask},
                    new INDArray[] {mask});
        }
    }

    private static LSTM lstm(int nIn, int nOut) {
        return new LSTM.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .activation(Activation.TANH)
                .dataFormat(RNNFormat.NCW)
                .build();
    }

    private static ConvolutionLayer convolution(int nIn, int nOut) {
        return new ConvolutionLayer.Builder(3, 3)
                .nIn(nIn)
                .nOut(nOut)
                .activation(Activation.TANH)
                .build();
    }

    private static DenseLayer dense(int nIn, int nOut) {
        return new DenseLayer.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .activation(Activation.SIGMOID)
                .build();
    }

    private static OutputLayer output(int nIn) {
        return new OutputLayer.Builder(LossFunction.MSE)
                .nIn(nIn)
                .nOut(3)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static RnnOutputLayer sequenceOutput(int nIn) {
        return new RnnOutputLayer.Builder(LossFunction.MSE)
                .nIn(nIn)
                .nOut(3)
                .dataFormat(RNNFormat.NCW)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static MixedPrecision enable(ComputationGraph network, Precision precision) {
        return MixedPrecision.enable(
                network,
                AmpConfig.builder().engine("onednn").precision(precision).build());
    }

    /** Dropout and weight noise that come next have the numbers of stock DL4J, whose vertices draw some, too. */
    @ParameterizedTest
    @EnumSource
    void drawsAsManyRandomNumbersAsStockDl4jDoes(Kind kind) {
        MultiDataSet data = kind.data();
        ComputationGraph stock = kind.network();
        Nd4j.getRandom().setSeed(5);
        stock.fit(data);
        long expected = Nd4j.getRandom().nextLong();
        ComputationGraph network = kind.network();
        try (MixedPrecision amp = enable(network, Precision.FLOAT)) {
            Nd4j.getRandom().setSeed(5);
            network.fit(data);
            assertEquals(expected, Nd4j.getRandom().nextLong());
        }
    }

    @ParameterizedTest
    @EnumSource
    void trainsAndInfersAsStockDl4jDoes(Kind kind) {
        MultiDataSet data = kind.data();
        ComputationGraph stock = kind.network();
        for (Precision precision : Types.precisions()) {
            double error = precision == Precision.FLOAT ? 1e-5 : 0.03;
            ComputationGraph network = kind.network();
            network.setParams(stock.params());
            ComputationGraph own = kind.network();
            own.setParams(stock.params());
            try (MixedPrecision amp = enable(network, precision)) {
                for (int step = 0; step < 3; step++) {
                    own.fit(data);
                    network.fit(data);
                    assertEquals(own.score(), network.score(), error * own.score(), precision + " score");
                }
                assertEquals(3, amp.stepsTaken());
                Agreement.assertWithin(precision + " parameters", own.params(), network.params(), error);
                Agreement.assertWithin(precision + " output", output(own, data), output(network, data), error);
            }
        }
    }

    private static INDArray output(ComputationGraph network, MultiDataSet data) {
        return network.output(false, data.getFeatures(), data.getFeaturesMaskArrays(), data.getLabelsMaskArrays())[0];
    }

    /** Nothing in a chain of layers of this engine is left to DL4J, nor cast to FP32 in between. */
    @ParameterizedTest
    @EnumSource
    void verticesDontBreakAChain(Kind kind) {
        for (Precision precision : Types.precisions()) {
            ComputationGraph network = kind.network();
            try (MixedPrecision amp = enable(network, precision)) {
                List<PrecisionPlan.Row> vertices =
                        amp.plan().rows().stream().filter(row -> !row.layer()).toList();
                for (PrecisionPlan.Row row : vertices) {
                    assertEquals("onednn", row.engine(), row.toString());
                    assertEquals(precision, row.input(), row.toString());
                    assertEquals(precision, row.output(), row.toString());
                }
            }
        }
    }
}
