package org.dl4jamp.onednn.twin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.IWeightNoise;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.ISchedule;
import org.nd4j.linalg.schedule.MapSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

/** Seeded networks with weight noise have the numbers of stock DL4J's. */
class NoiseTest {
    private static final InputType VECTORS = InputType.feedForward(6);
    private static final InputType IMAGES = InputType.convolutional(6, 6, 3);
    private static final InputType VOLUMES = InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 4, 4, 4, 2);
    private static final InputType SEQUENCES = InputType.recurrent(5, 6);

    /** A layer, what it reads, and whether segments of the sequences make a step each. */
    record Kind(Layer layer, InputType input, boolean truncated) {
        static Kind of(Layer layer, InputType input) {
            return new Kind(layer, input, false);
        }

        @Override
        public String toString() {
            return layer.getClass().getSimpleName() + (truncated ? ", truncated" : "");
        }

        private Kind with(IWeightNoise noise) {
            Layer own = layer.clone();
            for (Layer each : parts(own)) {
                ((BaseLayer) each).setWeightNoise(noise);
            }
            return new Kind(own, input, truncated);
        }

        private static List<Layer> parts(Layer layer) {
            if (layer instanceof Bidirectional both) {
                return List.of(both.getFwd(), both.getBwd());
            }
            return layer instanceof FrozenLayerWithBackprop frozen ? parts(frozen.getUnderlying()) : List.of(layer);
        }

        /** A layer that learns from the gradient that a frozen layer passes on. */
        private Layer below() {
            if (input == SEQUENCES) {
                return new SimpleRnn.Builder().nOut(5).build();
            }
            if (input == IMAGES) {
                return window(new ConvolutionLayer.Builder(2, 2)).build();
            }
            return input == VOLUMES ? window(new Convolution3D.Builder(1, 1, 1)).build() : dense().build();
        }

        private Layer head() {
            if (input == SEQUENCES) {
                return Networks.rnnSoftmax(3);
            }
            return Networks.softmax(3);
        }

        private MultiLayerNetwork network(IWeightNoise noise, IWeightNoise ofHead) {
            NeuralNetConfiguration.ListBuilder list =
                    Networks.builder(new Sgd(0.05)).list();
            if (layer instanceof FrozenLayerWithBackprop) {
                list.layer(below());
            }
            list.layer(with(noise).layer);
            if (input == IMAGES || input == VOLUMES) {
                list.layer(new GlobalPoolingLayer());
            }
            Layer head = head();
            ((BaseLayer) head).setWeightNoise(ofHead);
            list.layer(head).setInputType(input);
            if (truncated) {
                list.backpropType(BackpropType.TruncatedBPTT).tBPTTLength(3);
            }
            return Networks.init(list.build());
        }

        private DataSet data() {
            Nd4j.getRandom().setSeed(3);
            if (input == SEQUENCES) {
                return Networks.sequences(4, 5, 3, 6);
            }
            long[] shape = input.getShape(true).clone();
            shape[0] = 4;
            INDArray features = Nd4j.randn(DataType.FLOAT, shape);
            return new DataSet(features, Networks.oneHot(4, 3));
        }
    }

    static Stream<Kind> kinds() {
        return Stream.of(
                Kind.of(dense().build(), VECTORS),
                Kind.of(dense().hasLayerNorm(true).build(), VECTORS),
                Kind.of(dense().hasBias(false).activation(Activation.RELU).build(), VECTORS),
                Kind.of(new FrozenLayerWithBackprop(dense().build()), VECTORS),
                Kind.of(window(new ConvolutionLayer.Builder(3, 3)).build(), IMAGES),
                Kind.of(
                        new FrozenLayerWithBackprop(
                                window(new ConvolutionLayer.Builder(3, 3)).build()),
                        IMAGES),
                Kind.of(window(new Deconvolution2D.Builder(2, 2)).build(), IMAGES),
                Kind.of(
                        window(new DepthwiseConvolution2D.Builder(2, 2))
                                .depthMultiplier(2)
                                .build(),
                        IMAGES),
                Kind.of(window(new SeparableConvolution2D.Builder(2, 2)).build(), IMAGES),
                Kind.of(window(new Convolution3D.Builder(2, 2, 2)).build(), VOLUMES),
                Kind.of(
                        new Deconvolution3D.Builder()
                                .kernelSize(2, 2, 2)
                                .nOut(4)
                                .activation(Activation.TANH)
                                .build(),
                        VOLUMES),
                Kind.of(
                        new Convolution1DLayer.Builder(1)
                                .nOut(4)
                                .activation(Activation.TANH)
                                .build(),
                        SEQUENCES),
                Kind.of(new LSTM.Builder().nOut(4).build(), SEQUENCES),
                new Kind(new LSTM.Builder().nOut(4).build(), SEQUENCES, true),
                Kind.of(new GravesLSTM.Builder().nOut(4).build(), SEQUENCES),
                Kind.of(new GravesBidirectionalLSTM.Builder().nOut(4).build(), SEQUENCES),
                Kind.of(new SimpleRnn.Builder().nOut(4).build(), SEQUENCES),
                Kind.of(new Bidirectional(new LSTM.Builder().nOut(4).build()), SEQUENCES),
                frozen(Bidirectional.Mode.ADD, new LSTM.Builder().nOut(4).build()),
                frozen(Bidirectional.Mode.AVERAGE, new LSTM.Builder().nOut(4).build()),
                frozen(
                        Bidirectional.Mode.CONCAT,
                        new SimpleRnn.Builder().nOut(4).build()),
                frozen(Bidirectional.Mode.MUL, new LSTM.Builder().nOut(4).build()),
                frozen(Bidirectional.Mode.MUL, new SimpleRnn.Builder().nOut(4).build()));
    }

    private static Kind frozen(Bidirectional.Mode mode, Layer direction) {
        return Kind.of(new FrozenLayerWithBackprop(new Bidirectional(mode, direction)), SEQUENCES);
    }

    private static DenseLayer.Builder dense() {
        return new DenseLayer.Builder().nOut(7).activation(Activation.TANH);
    }

    private static <T extends ConvolutionLayer.BaseConvBuilder<T>> T window(T builder) {
        return builder.nOut(4).activation(Activation.TANH);
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder()
                .engine(OneDnnEngine.NAME)
                .precision(precision)
                .build();
    }

    /** Weights alone, and biases in inference, too, unless DL4J fails on them. */
    private static List<IWeightNoise> noises(Kind kind) {
        boolean hasBias = !(Kind.parts(kind.layer).get(0) instanceof DenseLayer dense) || dense.hasBias();
        ISchedule probability = new MapSchedule(ScheduleType.ITERATION, Map.of(0, 0.5, 2, 0.8));
        return List.of(new DropConnect(probability), new WeightNoise(new NormalDistribution(1, 0.3), hasBias, false));
    }

    private static double tolerance(Precision precision) {
        return precision == Precision.FLOAT ? 1e-5 : 0.05;
    }

    private static List<INDArray> outputs(MultiLayerNetwork network, INDArray features) {
        Nd4j.getRandom().setSeed(78);
        return List.of(network.output(features).dup(), network.output(features).dup());
    }

    static Stream<Kind> some() {
        return Stream.of(
                Kind.of(dense().build(), VECTORS),
                Kind.of(window(new ConvolutionLayer.Builder(3, 3)).build(), IMAGES),
                Kind.of(new LSTM.Builder().nOut(4).build(), SEQUENCES),
                frozen(Bidirectional.Mode.MUL, new SimpleRnn.Builder().nOut(4).build()));
    }

    @ParameterizedTest
    @MethodSource("some")
    void aSeededNetworkHasTheNumbersOfStockDl4j(Kind kind) {
        assertTrainsAndComputesAsInStockDl4j(kind);
    }

    static Stream<Kind> frozenKinds() {
        return kinds().filter(kind -> !(kind.layer instanceof FrozenLayerWithBackprop) && !kind.truncated)
                .map(kind -> Kind.of(new FrozenLayerWithBackprop(kind.layer), kind.input));
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource({"kinds", "frozenKinds"})
    void eachLayerDrawsItsNoiseInTheOrderOfDl4js(Kind kind) {
        assertTrainsAndComputesAsInStockDl4j(kind);
    }

    private static void assertTrainsAndComputesAsInStockDl4j(Kind kind) {
        DataSet data = kind.data();
        List<IWeightNoise> noises = noises(kind);
        for (IWeightNoise noise : noises) {
            MultiLayerNetwork stock = kind.network(noise, new DropConnect(0.6));
            MultiLayerNetwork trained = stock.clone();
            List<Double> expected = train(trained, data);
            List<INDArray> outputs = outputs(trained, data.getFeatures());
            for (DataType type : noise == noises.get(0) ? Types.here() : List.of(DataType.FLOAT)) {
                Precision precision = precision(type);
                MultiLayerNetwork own = stock.clone();
                try (MixedPrecision amp = MixedPrecision.enable(own, config(precision))) {
                    assertComputes(amp);
                    List<Double> scores = train(own, data);
                    for (int i = 0; i < scores.size(); i++) {
                        assertEquals(expected.get(i), scores.get(i), tolerance(precision), "score " + i);
                    }
                    Agreement.assertWithin(
                            precision + " " + noise, trained.params(), own.params(), tolerance(precision));
                    assertAgree(precision, outputs, outputs(own, data.getFeatures()));
                }
                try (InferenceMode mode = MixedPrecision.inference(own, config(precision))) {
                    assertAgree(precision, outputs, outputs(own, data.getFeatures()));
                }
            }
        }
    }

    private static Precision precision(DataType type) {
        return type == DataType.FLOAT ? Precision.FLOAT : Precision.BFLOAT16;
    }

    private static void assertAgree(Precision precision, List<INDArray> expected, List<INDArray> actual) {
        for (int i = 0; i < expected.size(); i++) {
            Agreement.assertWithin("output " + i, expected.get(i), actual.get(i), tolerance(precision));
        }
    }

    private static void assertComputes(MixedPrecision amp) {
        amp.plan().rows().forEach(row -> assertEquals(OneDnnEngine.NAME, row.engine(), row::toString));
    }

    private static List<Double> train(MultiLayerNetwork network, DataSet data) {
        Nd4j.getRandom().setSeed(77);
        List<Double> scores = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            network.fit(data);
            scores.add(network.score());
        }
        return scores;
    }

    static Stream<Kind> kindsThatRefuse() {
        return Stream.of(
                Kind.of(dense().build(), VECTORS),
                Kind.of(dense().hasLayerNorm(true).build(), VECTORS),
                Kind.of(window(new ConvolutionLayer.Builder(3, 3)).build(), IMAGES),
                Kind.of(Networks.softmax(4), VECTORS),
                Kind.of(new LSTM.Builder().nOut(4).build(), SEQUENCES),
                Kind.of(new SimpleRnn.Builder().nOut(4).build(), SEQUENCES),
                Kind.of(Networks.rnnSoftmax(4), SEQUENCES));
    }

    /** What is refused has drawn noise, as in stock DL4J: later noise is that of stock DL4J, too. */
    @ParameterizedTest
    @MethodSource("kindsThatRefuse")
    void aRefusedInputDrawsAsMuchNoiseAsInStockDl4j(Kind kind) {
        IWeightNoise ofBiases = new WeightNoise(new NormalDistribution(0, 0.1), true, false);
        MultiLayerNetwork stock = kind.network(ofBiases, null);
        for (boolean training : new boolean[] {false, true}) {
            float expected = drawnAfterRefusal(stock.clone(), kind, training);
            MultiLayerNetwork own = stock.clone();
            try (MixedPrecision amp = MixedPrecision.enable(own, config(Precision.FLOAT))) {
                assertComputes(amp);
                assertEquals(expected, drawnAfterRefusal(own, kind, training), "training " + training);
            }
        }
        float expected = drawnAfterRefusal(stock.clone(), kind, false);
        MultiLayerNetwork own = stock.clone();
        try (InferenceMode mode = MixedPrecision.inference(own, config(Precision.FLOAT))) {
            assertEquals(expected, drawnAfterRefusal(own, kind, false));
        }
    }

    /** Returns the next random number after an input with a channel too many. */
    private static float drawnAfterRefusal(MultiLayerNetwork network, Kind kind, boolean training) {
        long[] shape = kind.input().getShape(true).clone();
        shape[0] = 4;
        shape[1]++;
        INDArray wider = Nd4j.ones(DataType.FLOAT, shape);
        Nd4j.getRandom().setSeed(5);
        assertThrows(RuntimeException.class, () -> network.output(wider, training));
        return Nd4j.rand(DataType.FLOAT, 1).getFloat(0);
    }

    @Test
    void noiseIsDrawnAnewForEachStep() {
        Kind kind = Kind.of(dense().build(), VECTORS);
        MultiLayerNetwork network = kind.network(new WeightNoise(new NormalDistribution(0, 1)), null);
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT))) {
            network.setLearningRate(0);
            DataSet data = kind.data();
            network.fit(data);
            double first = network.score();
            network.fit(data);
            assertNotEquals(first, network.score());
        }
    }
}
