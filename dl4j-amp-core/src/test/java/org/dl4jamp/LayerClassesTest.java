package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.BaseOutputLayer;
import org.deeplearning4j.nn.layers.OutputLayer;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.layers.recurrent.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Sgd;

/** Programs that cast a network's layers, read their classes or call methods of these. */
class LayerClassesTest {
    private static final double CLOSE = 0.01;
    private static final AmpConfig HALF = Gradients.config(Precision.HALF);

    private final DataSet vectors = Networks.vectors(32, 20, 3);

    static void assertClassesOf(Layer[] expected, Layer[] actual) {
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < expected.length; i++) {
            assertInstanceOf(expected[i].getClass(), actual[i], "layer " + i);
        }
    }

    @Test
    void layersAreOfTheClassThatStoodThereWhileTheyComputeInHalf() {
        MultiLayerNetwork stock = Networks.init(Networks.cnn());
        MultiLayerNetwork network = stock.clone();
        Layer[] own = network.getLayers().clone();
        MixedPrecision amp = MixedPrecision.enable(network, HALF);
        assertTrue(amp.plan().anyHalf());
        assertClassesOf(stock.getLayers(), network.getLayers());
        for (int i = 0; i < own.length; i++) {
            assertNotSame(own[i], network.getLayer(i), "layer " + i);
            assertSame(own[i], MixedPrecision.master(network.getLayer(i)), "layer " + i);
        }
        ConvolutionLayer convolution = (ConvolutionLayer) network.getLayer(0);
        assertEquals(8, convolution.layerConf().getNOut());
        assertFalse(convolution.hasBias());
        BatchNormalization norm = (BatchNormalization) network.getLayer(1);
        assertEquals(8, norm.getShape(Nd4j.zeros(2, 8, 4, 4))[1]);
        assertEquals(24, ((DenseLayer) network.getLayer(7)).layerConf().getNOut());
        assertTrue(((DenseLayer) network.getLayer(7)).hasBias());
        amp.close();
        assertArrayEquals(own, network.getLayers());
        for (int i = 0; i < own.length; i++) {
            assertSame(own[i], network.getLayer(i), "layer " + i);
        }
    }

    @Test
    void layersOfAGraphAreOfTheClassThatStoodThere() {
        ComputationGraph stock = Networks.init(Networks.residual());
        ComputationGraph graph = stock.clone();
        Layer[] own = graph.getLayers().clone();
        try (MixedPrecision amp = MixedPrecision.enable(graph, HALF)) {
            assertTrue(amp.plan().anyHalf());
            assertClassesOf(stock.getLayers(), graph.getLayers());
            assertEquals(
                    8, ((ConvolutionLayer) graph.getLayer("stem")).layerConf().getNOut());
            assertEquals(3, ((OutputLayer) graph.getOutputLayer(0)).layerConf().getNOut());
            for (int i = 0; i < own.length; i++) {
                assertInstanceOf(
                        stock.getVertices()[i].getClass(), graph.getVertices()[i], graph.getVertices()[i].toString());
                assertSame(own[i], MixedPrecision.master(graph.getLayer(i)), "layer " + i);
            }
        }
        for (int i = 0; i < own.length; i++) {
            assertSame(own[i], graph.getLayer(i), "layer " + i);
        }
    }

    @Test
    void summariesAreThoseOfStock() {
        MultiLayerNetwork network = Networks.init(Networks.cnn());
        ComputationGraph graph = Networks.init(Networks.residual());
        String ofNetwork = network.summary();
        String ofImages = network.summary(InputType.convolutional(12, 12, 3));
        String ofGraph = graph.summary();
        MixedPrecision.enable(network, HALF);
        MixedPrecision.enable(graph, HALF);
        assertEquals(ofNetwork, network.summary());
        assertEquals(ofImages, network.summary(InputType.convolutional(12, 12, 3)));
        assertEquals(ofGraph, graph.summary());
    }

    @ParameterizedTest
    @EnumSource(
            value = Precision.class,
            names = {"HALF", "BFLOAT16"})
    void anOutputLayerTakesLabelsAndTellsItsScore(Precision precision) {
        Comparison.assumeComputed(precision);
        MultiLayerNetwork stock = Networks.init(Networks.mlp());
        MultiLayerNetwork network = stock.clone();
        MixedPrecision.enable(network, Gradients.config(precision));
        INDArray input = Networks.vectors(32, 32, 3).getFeatures();
        double[] scores = new double[2];
        MultiLayerNetwork[] networks = {stock, network};
        for (int i = 0; i < networks.length; i++) {
            BaseOutputLayer<?> output = (BaseOutputLayer<?>) networks[i].getOutputLayer();
            output.setLabels(vectors.getLabels());
            output.setInput(input, LayerWorkspaceMgr.noWorkspaces());
            scores[i] = output.computeScore(0.5, false, LayerWorkspaceMgr.noWorkspaces());
            assertSame(vectors.getLabels(), output.getLabels());
            assertEquals(3, output.numLabels());
            assertEquals(scores[i], output.score(), 1e-6);
            output.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
            assertArrayEquals(
                    new String[] {"W", "b"},
                    output.gradient().gradientForVariable().keySet().toArray());
            output.assertInputSet(false);
        }
        assertEquals(scores[0], scores[1], CLOSE);
        Map<String, INDArray> expected = stock.getOutputLayer().gradient().gradientForVariable();
        network.getOutputLayer()
                .gradient()
                .gradientForVariable()
                .forEach((name, gradient) -> Comparison.assertClose(expected.get(name), gradient, CLOSE, name));
    }

    @Test
    void anOutputLayerPredictsWithTheParametersOfNow() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .lower(org.deeplearning4j.nn.conf.layers.OutputLayer.class)
                        .build());
        assertEquals(Precision.HALF, amp.plan().row("layer2").precision());
        INDArray input = Networks.vectors(32, 32, 3).getFeatures();
        for (int i = 0; i < 3; i++) {
            network.fit(vectors);
            network.params().negi();
            OutputLayer output = (OutputLayer) network.getOutputLayer();
            INDArray sums = input.mmul(network.getParam("2_W")).addiRowVector(network.getParam("2_b"));
            assertArrayEquals(sums.argMax(1).toIntVector(), output.predict(input));
        }
    }

    @Test
    void theStateOfARecurrentLayerIsReadAndSetThroughItsClass() {
        MultiLayerNetwork stock = Networks.init(Networks.lstm());
        MultiLayerNetwork network = stock.clone();
        MixedPrecision.enable(network, HALF);
        INDArray step = Networks.sequences(4, 5, 3, 1).getFeatures();
        stock.rnnTimeStep(step);
        network.rnnTimeStep(step);
        BaseRecurrentLayer<?> expected = (BaseRecurrentLayer<?>) stock.getLayer(0);
        BaseRecurrentLayer<?> actual = (BaseRecurrentLayer<?>) network.getLayer(0);
        assertEquals(
                expected.rnnGetPreviousState().keySet(),
                actual.rnnGetPreviousState().keySet());
        expected.rnnGetPreviousState()
                .forEach((name, value) -> Comparison.assertClose(
                        value, actual.rnnGetPreviousState().get(name), CLOSE, name));
        assertEquals(RNNFormat.NCW, actual.getDataFormat());

        INDArray next = network.rnnTimeStep(step).dup();
        network.rnnClearPreviousState();
        assertTrue(actual.rnnGetPreviousState().isEmpty());
        for (int i = 0; i < 2; i++) {
            BaseRecurrentLayer<?> from = (BaseRecurrentLayer<?>) stock.getLayer(i);
            ((BaseRecurrentLayer<?>) network.getLayer(i)).rnnSetPreviousState(from.rnnGetPreviousState());
        }
        Comparison.assertClose(next, network.rnnTimeStep(step), CLOSE, "continued");
    }

    @Test
    void truncatedBackpropagationLeavesItsStateInTheLayerThatIsHandedOut() {
        MultiLayerNetwork stock = Networks.init(Networks.truncatedLstm());
        MultiLayerNetwork network = stock.clone();
        MixedPrecision.enable(network, HALF);
        INDArray features = Networks.sequences(4, 5, 3, 4).getFeatures();
        for (MultiLayerNetwork one : new MultiLayerNetwork[] {stock, network}) {
            one.setInput(features);
            one.rnnActivateUsingStoredState(features, true, true);
        }
        Map<String, INDArray> expected = ((BaseRecurrentLayer<?>) stock.getLayer(0)).rnnGetTBPTTState();
        Map<String, INDArray> actual = ((BaseRecurrentLayer<?>) network.getLayer(0)).rnnGetTBPTTState();
        assertEquals(expected.keySet(), actual.keySet());
        assertFalse(expected.isEmpty());
        expected.forEach((name, value) -> Comparison.assertClose(value, actual.get(name), CLOSE, name));
    }

    /** DL4J takes what isn't its own recurrent layer for one with the features first. */
    @Test
    void aMaskOfZerosKnowsTheOrderOfAxesOfTheLayerInside() {
        MultiLayerNetwork stock = Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(new MaskZeroLayer(
                        new LSTM.Builder().nOut(8).dataFormat(RNNFormat.NWC).build(), 0))
                .layer(new org.deeplearning4j.nn.conf.layers.RnnOutputLayer.Builder()
                        .nOut(3)
                        .activation(org.nd4j.linalg.activations.Activation.SOFTMAX)
                        .dataFormat(RNNFormat.NWC)
                        .build())
                .setInputType(InputType.recurrent(5, 7, RNNFormat.NWC))
                .build());
        MultiLayerNetwork network = stock.clone();
        INDArray features =
                Networks.sequences(4, 5, 3, 7).getFeatures().permute(0, 2, 1).dup('c');
        features.get(NDArrayIndex.all(), NDArrayIndex.interval(4, 7), NDArrayIndex.all())
                .assign(0);
        MixedPrecision amp = MixedPrecision.enable(network, HALF);
        assertEquals("nd4j", amp.plan().rows().get(0).engine(), amp.plan().toString());
        assertInstanceOf(org.deeplearning4j.nn.layers.recurrent.MaskZeroLayer.class, network.getLayer(0));
        assertInstanceOf(RnnOutputLayer.class, network.getLayer(1));
        Comparison.assertClose(stock.output(features), network.output(features), CLOSE, "output");
        INDArray labels =
                Networks.sequences(4, 5, 3, 7).getLabels().permute(0, 2, 1).dup('c');
        stock.fit(features, labels);
        network.fit(features, labels);
        Comparison.assertClose(stock.params(), network.params(), CLOSE, "a step later");
    }

    @Test
    void aLayerShowsItsInputAsBothOfDl4jsMethodsDo() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision.enable(network, HALF);
        DenseLayer first = (DenseLayer) network.getLayer(0);
        assertNull(first.getInput());
        assertThrows(IllegalStateException.class, () -> first.assertInputSet(false));
        network.setInput(vectors.getFeatures());
        network.feedForward(true, false);
        assertSame(first.input(), first.getInput());
        Comparison.assertClose(vectors.getFeatures(), first.getInput().castTo(DataType.FLOAT), CLOSE, "input");
        first.assertInputSet(true);
        network.clearLayersStates();
        assertNull(first.getInput());
        assertThrows(IllegalStateException.class, () -> first.assertInputSet(false));
    }

    @Test
    void layersAreEqualToWhatTheirOwnAreEqualTo() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MultiLayerNetwork other = network.clone();
        Layer own = network.getLayer(0);
        String shown = own.toString();
        MixedPrecision.enable(network, HALF);
        MixedPrecision.enable(other, HALF);
        Layer standIn = network.getLayer(0);
        assertEquals(standIn, standIn);
        assertEquals(own, standIn);
        assertEquals(standIn, own);
        assertEquals(standIn, other.getLayer(0));
        assertEquals(own.hashCode(), standIn.hashCode());
        assertNotEquals(standIn, other.getLayer(2));
        assertNotEquals(null, standIn);
        assertEquals(shown, standIn.toString());
        assertSame(standIn, network.getLayer(0));
    }

    @Test
    void updatersAreDl4jsClassesOrTheirSubclasses() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        ComputationGraph graph = Networks.init(Networks.residual());
        MixedPrecision.enable(network, HALF);
        MixedPrecision.enable(graph, HALF);
        assertInstanceOf(MultiLayerUpdater.class, network.getUpdater());
        assertInstanceOf(ComputationGraphUpdater.class, graph.getUpdater());
    }
}
