package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.BaseOutputLayer;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.onednn.vertex.VertexTwin;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.ViewIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Whole networks on this engine with programs that cast layers, test their classes and call the methods of these
 * classes.
 */
class LayerClassesTest {
    static Stream<Precision> precisions() {
        return Types.here().stream().map(type -> type == DataType.FLOAT ? Precision.FLOAT : Precision.BFLOAT16);
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    /** The error that rounding may make. */
    private static double close(Precision precision) {
        return precision == Precision.FLOAT ? 1e-5 : 0.03;
    }

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.1))
                .activation(Activation.TANH)
                .convolutionMode(ConvolutionMode.Same);
    }

    private static OutputLayer softmax() {
        return Networks.softmax(3);
    }

    private static RnnOutputLayer softmaxOfSteps() {
        return Networks.rnnSoftmax(3);
    }

    private static MultiLayerConfiguration cnn() {
        return builder()
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(16).build())
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(new SubsamplingLayer.Builder(2, 2).stride(2, 2).build())
                .layer(new DenseLayer.Builder().nOut(16).build())
                .layer(softmax())
                .setInputType(InputType.convolutional(8, 8, 1))
                .build();
    }

    private static ComputationGraphConfiguration residual() {
        return builder()
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(8, 8, 1))
                .addLayer("a", new ConvolutionLayer.Builder(3, 3).nOut(16).build(), "in")
                .addLayer("b", new ConvolutionLayer.Builder(3, 3).nOut(16).build(), "a")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "b")
                .addVertex("merge", new MergeVertex(), "add", "a")
                .addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), "merge")
                .addLayer("out", softmax(), "pool")
                .setOutputs("out")
                .build();
    }

    private static MultiLayerConfiguration recurrent() {
        return builder()
                .list()
                .layer(new LSTM.Builder().nOut(16).build())
                .layer(new SimpleRnn.Builder().nOut(12).build())
                .layer(softmaxOfSteps())
                .setInputType(InputType.recurrent(5))
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(4)
                .build();
    }

    private static DataSet images() {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 8, 3);
        for (int i = 0; i < 8; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        return new DataSet(gaussian(new Random(3), 1, 8, 1, 8, 8), labels);
    }

    private static DataSet sequences(int steps) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 4, 3, steps);
        for (int i = 0; i < 4; i++) {
            for (int t = 0; t < steps; t++) {
                labels.putScalar(new int[] {i, (i + t) % 3, t}, 1);
            }
        }
        return new DataSet(gaussian(new Random(4), 1, 4, 5, steps), labels);
    }

    private static MultiLayerNetwork init(MultiLayerConfiguration configuration) {
        return Networks.init(configuration);
    }

    private static void assertClassesOf(Layer[] expected, Layer[] actual) {
        for (int i = 0; i < expected.length; i++) {
            assertInstanceOf(expected[i].getClass(), actual[i], "layer " + i);
            assertInstanceOf(TwinLayer.class, StandIn.behind(actual[i]), "layer " + i);
        }
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void aNetworkTrainsAndIsEvaluatedWithLayersOfTheirClasses(Precision precision) {
        MultiLayerNetwork stock = init(cnn());
        MultiLayerNetwork network = stock.clone();
        Layer[] own = network.getLayers().clone();
        String summary = network.summary();
        DataSet data = images();
        try (MixedPrecision amp = MixedPrecision.enable(network, config(precision))) {
            assertClassesOf(stock.getLayers(), network.getLayers());
            assertEquals(summary, network.summary());
            Agreement.assertWithin(
                    "output", stock.output(data.getFeatures()), network.output(data.getFeatures()), close(precision));
            assertEquals(
                    stock.evaluate(new ViewIterator(data, 4)).accuracy(),
                    network.evaluate(new ViewIterator(data, 4)).accuracy());
            for (int i = 0; i < 5; i++) {
                stock.fit(data);
                network.fit(data);
            }
            assertEquals(5, amp.stepsTaken());
            Agreement.assertWithin("parameters", stock.params(), network.params(), close(precision));
        }
        for (int i = 0; i < own.length; i++) {
            assertSame(own[i], network.getLayer(i), "layer " + i);
        }
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void aGraphTrainsWithLayersAndVerticesOfTheirClasses(Precision precision) {
        ComputationGraph stock = Networks.init(residual());
        ComputationGraph graph = stock.clone();
        String summary = graph.summary();
        DataSet data = images();
        try (MixedPrecision amp = MixedPrecision.enable(graph, config(precision))) {
            assertClassesOf(stock.getLayers(), graph.getLayers());
            for (int i = 0; i < stock.getVertices().length; i++) {
                assertInstanceOf(stock.getVertices()[i].getClass(), graph.getVertices()[i], "vertex " + i);
            }
            assertTrue(Stream.of(graph.getVertices()).map(StandIn::behind).anyMatch(VertexTwin.class::isInstance));
            assertEquals(summary, graph.summary());
            for (int i = 0; i < 5; i++) {
                stock.fit(data);
                graph.fit(data);
            }
            assertEquals(5, amp.stepsTaken());
            Agreement.assertWithin("parameters", stock.params(), graph.params(), close(precision));
        }
        assertEquals(summary, graph.summary());
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void anOutputLayerTakesLabelsAndTellsItsScore(Precision precision) {
        MultiLayerNetwork stock = init(cnn());
        MultiLayerNetwork network = stock.clone();
        MixedPrecision.enable(network, config(precision));
        INDArray input = gaussian(new Random(6), 1, 8, 16);
        double[] scores = new double[2];
        MultiLayerNetwork[] networks = {stock, network};
        for (int i = 0; i < networks.length; i++) {
            BaseOutputLayer<?> output = (BaseOutputLayer<?>) networks[i].getOutputLayer();
            output.setLabels(images().getLabels());
            output.setInput(input, LayerWorkspaceMgr.noWorkspaces());
            scores[i] = output.computeScore(0.5, false, LayerWorkspaceMgr.noWorkspaces());
            assertEquals(3, output.numLabels());
            output.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
            INDArray sums = input.mmul(networks[i].getParam("5_W")).addiRowVector(networks[i].getParam("5_b"));
            assertEquals(
                    sums.argMax(1), Nd4j.createFromArray(output.predict(input)).castTo(DataType.LONG));
        }
        assertEquals(scores[0], scores[1], close(precision));
        Map<String, INDArray> expected = stock.getOutputLayer().gradient().gradientForVariable();
        Map<String, INDArray> actual = network.getOutputLayer().gradient().gradientForVariable();
        assertEquals(expected.keySet(), actual.keySet());
        expected.forEach(
                (name, gradient) -> Agreement.assertWithin(name, gradient, actual.get(name), close(precision)));
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void theStateOfRecurrentLayersIsReadAndSetThroughTheirClass(Precision precision) {
        MultiLayerNetwork stock = init(recurrent());
        MultiLayerNetwork network = stock.clone();
        MixedPrecision amp = MixedPrecision.enable(network, config(precision));
        assertClassesOf(stock.getLayers(), network.getLayers());
        INDArray step = sequences(1).getFeatures();
        stock.rnnTimeStep(step);
        network.rnnTimeStep(step);
        for (int i = 0; i < 2; i++) {
            BaseRecurrentLayer<?> expected = (BaseRecurrentLayer<?>) stock.getLayer(i);
            BaseRecurrentLayer<?> actual = (BaseRecurrentLayer<?>) network.getLayer(i);
            assertState(expected.rnnGetPreviousState(), actual.rnnGetPreviousState(), precision);
            actual.rnnSetPreviousState(expected.rnnGetPreviousState());
        }
        Agreement.assertWithin("next", stock.rnnTimeStep(step), network.rnnTimeStep(step), close(precision));
        DataSet data = sequences(12);
        stock.fit(data);
        network.fit(data);
        assertEquals(3, amp.stepsTaken());
        Agreement.assertWithin("parameters", stock.params(), network.params(), close(precision));
        for (MultiLayerNetwork one : new MultiLayerNetwork[] {stock, network}) {
            one.rnnActivateUsingStoredState(data.getFeatures(), true, true);
        }
        assertState(
                ((BaseRecurrentLayer<?>) stock.getLayer(0)).rnnGetTBPTTState(),
                ((BaseRecurrentLayer<?>) network.getLayer(0)).rnnGetTBPTTState(),
                precision);
    }

    private static void assertState(Map<String, INDArray> expected, Map<String, INDArray> actual, Precision precision) {
        assertEquals(expected.keySet(), actual.keySet());
        assertTrue(!expected.isEmpty(), "state");
        expected.forEach((name, value) -> Agreement.assertWithin(name, value, actual.get(name), close(precision)));
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void layersAroundRecurrentLayersKeepTheirClassesToo(Precision precision) {
        RNNFormat[] formats = {RNNFormat.NCW, RNNFormat.NWC};
        for (RNNFormat format : formats) {
            MultiLayerNetwork stock = init(builder()
                    .list()
                    .layer(new Bidirectional(
                            new LSTM.Builder().nOut(8).dataFormat(format).build()))
                    .layer(new MaskZeroLayer(
                            new LSTM.Builder().nOut(8).dataFormat(format).build(), 0))
                    .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                            .nOut(3)
                            .activation(Activation.SOFTMAX)
                            .dataFormat(format)
                            .build())
                    .setInputType(InputType.recurrent(5, 7, format))
                    .build());
            MultiLayerNetwork network = stock.clone();
            String summary = network.summary();
            INDArray features = sequences(7).getFeatures();
            INDArray given = format == RNNFormat.NCW
                    ? features
                    : features.permute(0, 2, 1).dup('c');
            MixedPrecision.enable(network, config(precision));
            for (int i = 0; i < 3; i++) {
                assertInstanceOf(stock.getLayer(i).getClass(), network.getLayer(i), format + " layer " + i);
            }
            assertEquals(summary, network.summary());
            Agreement.assertWithin(format + " output", stock.output(given), network.output(given), close(precision));
        }
    }
}
