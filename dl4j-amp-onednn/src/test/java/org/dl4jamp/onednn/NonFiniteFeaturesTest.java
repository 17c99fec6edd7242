package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** NaN, infinite and huge features give the same results as in DL4J: no plausible numbers from meaningless features. */
class NonFiniteFeaturesTest {
    private static final float[] SPECIAL = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 1e30f, -1e38f};

    private static final InputType VECTORS = InputType.feedForward(5);
    private static final InputType IMAGES = InputType.convolutional(6, 6, 3);
    private static final InputType SEQUENCES = InputType.recurrent(5, 7);

    // DL4J's types of input and arrays are mutable, but stay as they are here.
    @SuppressWarnings("ImmutableEnumChecker")
    private enum Network {
        DENSE(VECTORS),
        NORMALIZED_DENSE(VECTORS),
        CONVOLUTION(IMAGES),
        RESIDUAL(IMAGES),
        MAXIMUM(VECTORS),
        BRANCHES(VECTORS),
        LSTM_LAYER(SEQUENCES),
        SIMPLE_RNN(SEQUENCES),
        BIDIRECTIONAL(SEQUENCES),
        POOLED_SEQUENCE(SEQUENCES);

        private final InputType input;

        Network(InputType input) {
            this.input = input;
        }

        private static DenseLayer dense(Activation activation) {
            return new DenseLayer.Builder().nOut(8).activation(activation).build();
        }

        private static ConvolutionLayer convolution(Activation activation) {
            return new ConvolutionLayer.Builder(3, 3)
                    .nOut(4)
                    .activation(activation)
                    .build();
        }

        private static Layer lstm() {
            return new LSTM.Builder().nOut(4).activation(Activation.TANH).build();
        }

        private void addTo(GraphBuilder graph, Activation activation) {
            switch (this) {
                case DENSE -> graph.addLayer("a", dense(activation), "in").addLayer("last", dense(activation), "a");
                case NORMALIZED_DENSE ->
                    graph.addLayer("a", dense(Activation.IDENTITY), "in")
                            .addLayer("b", new BatchNormalization(), "a")
                            .addLayer("last", new ActivationLayer(activation), "b");
                case CONVOLUTION ->
                    graph.addLayer("a", convolution(activation), "in")
                            .addLayer(
                                    "b",
                                    new SubsamplingLayer.Builder(2, 2)
                                            .stride(2, 2)
                                            .build(),
                                    "a")
                            .addLayer(
                                    "c",
                                    new LocalResponseNormalization.Builder()
                                            .n(3)
                                            .build(),
                                    "b")
                            .addLayer("last", convolution(activation), "c");
                case RESIDUAL ->
                    graph.addLayer("a", convolution(activation), "in")
                            .addLayer("b", convolution(Activation.IDENTITY), "a")
                            .addLayer("c", new BatchNormalization(), "b")
                            .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "c", "a")
                            .addLayer("d", new ActivationLayer(activation), "sum")
                            .addLayer("last", new GlobalPoolingLayer(PoolingType.AVG), "d");
                case MAXIMUM ->
                    graph.addLayer("a", dense(activation), "in")
                            .addLayer("b", dense(activation), "in")
                            .addVertex("last", new ElementWiseVertex(ElementWiseVertex.Op.Max), "a", "b");
                case BRANCHES ->
                    graph.addLayer("a", dense(activation), "in")
                            .addLayer("b", dense(activation), "other")
                            .addVertex("last", new MergeVertex(), "a", "b");
                case LSTM_LAYER -> graph.addLayer("last", lstm(), "in");
                case SIMPLE_RNN ->
                    graph.addLayer(
                            "last",
                            new SimpleRnn.Builder()
                                    .nOut(4)
                                    .activation(activation)
                                    .build(),
                            "in");
                case BIDIRECTIONAL ->
                    graph.addLayer("last", new Bidirectional(Bidirectional.Mode.CONCAT, lstm()), "in");
                case POOLED_SEQUENCE ->
                    graph.addLayer("a", lstm(), "in").addLayer("last", new GlobalPoolingLayer(PoolingType.MAX), "a");
            }
        }

        ComputationGraph make(Activation activation) {
            GraphBuilder graph = new NeuralNetConfiguration.Builder()
                    .seed(5)
                    .updater(new Sgd(0.1))
                    .convolutionMode(ConvolutionMode.Same)
                    .graphBuilder();
            if (this == BRANCHES) {
                graph.addInputs("in", "other").setInputTypes(input, input);
            } else {
                graph.addInputs("in").setInputTypes(input);
            }
            addTo(graph, activation);
            boolean sequences = input == SEQUENCES && this != POOLED_SEQUENCE;
            graph.addLayer(
                            "out",
                            sequences
                                    ? new RnnOutputLayer.Builder(LossFunction.MCXENT)
                                            .nOut(4)
                                            .activation(Activation.SOFTMAX)
                                            .build()
                                    : new OutputLayer.Builder(LossFunction.MCXENT)
                                            .nOut(4)
                                            .activation(Activation.SOFTMAX)
                                            .build(),
                            "last")
                    .setOutputs("out");
            ComputationGraph network = new ComputationGraph(graph.build());
            network.init();
            return network;
        }

        private INDArray features(int seed) {
            if (input == VECTORS) {
                return gaussian(new Random(seed), 1, 6, 5);
            }
            return input == IMAGES ? gaussian(new Random(seed), 1, 6, 3, 6, 6) : gaussian(new Random(seed), 1, 6, 5, 7);
        }

        INDArray[] inputs(int seed) {
            return this == BRANCHES
                    ? new INDArray[] {features(seed), features(seed + 1)}
                    : new INDArray[] {features(seed)};
        }

        /** One number of one example is special. */
        INDArray[] inputs(float special) {
            INDArray[] inputs = inputs(3);
            INDArray last = inputs[inputs.length - 1];
            last.putScalar(2 * last.length() / 6 + 1, special);
            return inputs;
        }
    }

    static Stream<Arguments> cases() {
        return Stream.of(Network.values()).flatMap(network -> Stream.of(Precision.FLOAT, Precision.BFLOAT16)
                .filter(precision ->
                        precision == Precision.FLOAT || Types.here().contains(DataType.BFLOAT16))
                .map(precision -> Arguments.of(network, precision)));
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().precision(precision).engine("onednn").build();
    }

    private static void assertAsStock(String what, INDArray expected, INDArray actual, Precision precision) {
        float[] stock = expected.dup('c').data().asFloat();
        float[] own = actual.dup('c').data().asFloat();
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double error = precision == Precision.FLOAT ? 1e-5 : 0.05;
        for (int i = 0; i < stock.length; i++) {
            // What a maximum of windows makes of NaN depends on the order in memory in DL4J, too.
            boolean moreOfIt = precision != Precision.FLOAT && Float.isNaN(own[i]);
            assertEquals(moreOfIt ? Float.NaN : stock[i], own[i], error, what + "[" + i + "]");
        }
    }

    private static INDArray output(ComputationGraph network, INDArray[] inputs) {
        INDArray[] own = Stream.of(inputs).map(INDArray::dup).toArray(INDArray[]::new);
        return network.output(own)[0];
    }

    private static void assertOutputsAsStock(
            Network kind,
            Activation activation,
            ComputationGraph stock,
            ComputationGraph network,
            Precision precision) {
        for (float special : SPECIAL) {
            String what = kind + " with " + activation + " and " + special;
            INDArray[] inputs = kind.inputs(special);
            assertAsStock(what, output(stock, inputs), output(network, inputs), precision);
            INDArray[] usual = kind.inputs(7);
            assertAsStock(what + ", then usual ones", output(stock, usual), output(network, usual), precision);
        }
    }

    private static EnumSet<Activation> activations(Network kind, Precision precision) {
        boolean hasNone =
                kind == Network.LSTM_LAYER || kind == Network.BIDIRECTIONAL || kind == Network.POOLED_SEQUENCE;
        if (hasNone || precision != Precision.FLOAT) {
            return EnumSet.of(Activation.RELU);
        }
        return kind == Network.DENSE
                ? EnumSet.complementOf(EnumSet.of(Activation.RRELU))
                : EnumSet.of(Activation.RELU, Activation.TANH, Activation.SIGMOID, Activation.RELU6);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void ofAnEnabledNetworkGiveWhatDl4jGives(Network kind, Precision precision) {
        for (Activation activation : activations(kind, precision)) {
            ComputationGraph network = kind.make(activation);
            ComputationGraph stock = network.clone();
            try (MixedPrecision amp = MixedPrecision.enable(network, config(precision))) {
                assertOutputsAsStock(kind, activation, stock, network, precision);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void inInferenceModeGiveWhatDl4jGives(Network kind, Precision precision) {
        for (Activation activation : activations(kind, precision)) {
            ComputationGraph network = kind.make(activation);
            ComputationGraph stock = network.clone();
            try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
                assertOutputsAsStock(kind, activation, stock, network, precision);
            }
        }
    }

    @Test
    void ofOneExampleMakeItsOutputsNaNAndNoOthers() {
        ComputationGraph network = Network.DENSE.make(Activation.RELU);
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT))) {
            INDArray output = output(network, Network.DENSE.inputs(Float.NaN));
            assertTrue(output.getRow(2).isNaN().all(), output.toString());
            assertTrue(!output.getRow(1).isNaN().any(), output.toString());
        }
    }

    @ParameterizedTest
    @MethodSource("recurrent")
    void inTimeStepsStayInTheState(Network kind, boolean inference) {
        ComputationGraph network = kind.make(Activation.TANH);
        ComputationGraph stock = network.clone();
        try (AutoCloseable mode = inference
                ? MixedPrecision.inference(network, config(Precision.FLOAT))
                : MixedPrecision.enable(network, config(Precision.FLOAT))) {
            for (int step = 0; step < 4; step++) {
                INDArray features = gaussian(new Random(step), 1, 6, 5, 1);
                if (step == 1) {
                    features.putScalar(new int[] {2, 1, 0}, Float.NaN);
                    features.putScalar(new int[] {4, 1, 0}, Float.POSITIVE_INFINITY);
                }
                assertAsStock(
                        "step " + step,
                        stock.rnnTimeStep(features.dup())[0],
                        network.rnnTimeStep(features.dup())[0],
                        Precision.FLOAT);
            }
            stock.rnnClearPreviousState();
            network.rnnClearPreviousState();
            INDArray features = gaussian(new Random(9), 1, 6, 5, 1);
            assertAsStock("cleared", stock.rnnTimeStep(features)[0], network.rnnTimeStep(features)[0], Precision.FLOAT);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    static Stream<Arguments> recurrent() {
        return Stream.of(Network.LSTM_LAYER, Network.SIMPLE_RNN)
                .flatMap(kind -> Stream.of(Arguments.of(kind, true), Arguments.of(kind, false)));
    }

    @Test
    void aScoreOfThemIsNaN() {
        ComputationGraph network = Network.DENSE.make(Activation.RELU);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 6, 4);
        labels.getColumn(1).assign(1);
        DataSet data = new DataSet(Network.DENSE.inputs(Float.NaN)[0], labels);
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT))) {
            assertTrue(Double.isNaN(network.score(data)));
        }
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            assertTrue(Double.isNaN(network.score(data)));
        }
    }
}
