package org.dl4jamp.engine.nd4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Chain;
import org.dl4jamp.MemoryOutsideWorkspaces;
import org.dl4jamp.Networks;
import org.dl4jamp.OpenStep;
import org.dl4jamp.engine.nd4j.TwinHarness.Way;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.precision.LayerObserver;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * Networks with workspaces and loss scaling, trained with either kind of twin: both round the same numbers, and differ
 * by roundings only.
 */
class HalfProductNetworksTest {
    private static final int STEPS = 5;
    private static final double LOSS_SCALE = 1024;

    private static NeuralNetConfiguration.Builder builder(WorkspaceMode workspaces) {
        return new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .trainingWorkspaceMode(workspaces)
                .inferenceWorkspaceMode(workspaces);
    }

    private static MultiLayerConfiguration dense(WorkspaceMode workspaces) {
        return builder(workspaces)
                .list(
                        Networks.dense(33, Activation.RELU),
                        new DenseLayer.Builder()
                                .nOut(17)
                                .activation(Activation.TANH)
                                .dropOut(0.8)
                                .build(),
                        Networks.softmax(4))
                .setInputType(InputType.feedForward(9))
                .build();
    }

    private static MultiLayerConfiguration convolutional(WorkspaceMode workspaces) {
        return builder(workspaces)
                .list(
                        new ConvolutionLayer.Builder(3, 3)
                                .nOut(6)
                                .activation(Activation.IDENTITY)
                                .build(),
                        new BatchNormalization.Builder().build(),
                        new ConvolutionLayer.Builder(1, 1)
                                .nOut(8)
                                .activation(Activation.RELU)
                                .build(),
                        new SubsamplingLayer.Builder()
                                .kernelSize(2, 2)
                                .stride(2, 2)
                                .build(),
                        new ConvolutionLayer.Builder(2, 2)
                                .padding(1, 0)
                                .stride(2, 1)
                                .nOut(5)
                                .activation(Activation.TANH)
                                .build(),
                        Networks.dense(7, Activation.TANH),
                        Networks.regression(2))
                .setInputType(InputType.convolutional(10, 9, 2))
                .build();
    }

    private static MultiLayerConfiguration recurrent(WorkspaceMode workspaces, BackpropType backprop) {
        MultiLayerConfiguration.Builder layers = builder(workspaces)
                .list(
                        new LSTM.Builder().nOut(9).activation(Activation.TANH).build(),
                        new LSTM.Builder().nOut(6).activation(Activation.TANH).build(),
                        Networks.rnnRegression(2))
                .setInputType(InputType.recurrent(3))
                .backpropType(backprop);
        return (backprop == BackpropType.TruncatedBPTT ? layers.tBPTTLength(4) : layers).build();
    }

    private static MultiLayerConfiguration attention(WorkspaceMode workspaces) {
        return builder(workspaces)
                .list(
                        new LSTM.Builder().nOut(9).activation(Activation.TANH).build(),
                        new SelfAttentionLayer.Builder()
                                .nOut(8)
                                .nHeads(2)
                                .projectInput(true)
                                .build(),
                        new SelfAttentionLayer.Builder()
                                .nIn(8)
                                .nOut(8)
                                .nHeads(1)
                                .projectInput(false)
                                .build(),
                        Networks.rnnRegression(2))
                .setInputType(InputType.recurrent(3))
                .build();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @ParameterizedTest
    @EnumSource(
            value = WorkspaceMode.class,
            names = {"NONE", "ENABLED"})
    private @interface WithAndWithoutWorkspaces {}

    @WithAndWithoutWorkspaces
    void aDenseNetworkWithDropout(WorkspaceMode workspaces) {
        compare(dense(workspaces), vectors(), 2);
    }

    @WithAndWithoutWorkspaces
    void aConvolutionalNetworkWithBatchNormAndPooling(WorkspaceMode workspaces) {
        compare(convolutional(workspaces), images(), 4);
    }

    @WithAndWithoutWorkspaces
    void aRecurrentNetworkWithMasks(WorkspaceMode workspaces) {
        compare(recurrent(workspaces, BackpropType.Standard), maskedSequences(), 2);
    }

    @WithAndWithoutWorkspaces
    void aRecurrentNetworkWithTruncatedBptt(WorkspaceMode workspaces) {
        compare(recurrent(workspaces, BackpropType.TruncatedBPTT), maskedSequences(), 2);
    }

    @WithAndWithoutWorkspaces
    void anAttentionNetworkWithMasks(WorkspaceMode workspaces) {
        compare(attention(workspaces), maskedSequences(), 3);
    }

    @Test
    void timeStepsOneByOneInARecurrentNetwork() {
        List<INDArray> outputs = new ArrayList<>();
        for (Way way : Way.values()) {
            MultiLayerNetwork net = enabled(recurrent(WorkspaceMode.ENABLED, BackpropType.Standard), way);
            INDArray sequence = maskedSequences().getFeatures();
            INDArray last = null;
            for (int time = 0; time < 4; time++) {
                last = net.rnnTimeStep(LstmCell.step(sequence, time).dup());
            }
            outputs.add(last);
        }
        assertTrue(outputs.get(0).distance2(outputs.get(1))
                < 2e-3 * outputs.get(0).norm2Number().doubleValue());
    }

    @Test
    void aStepAllocatesNothingOutsideWorkspacesThatDl4jDoesNot() throws ReflectiveOperationException {
        assertAllocatesNoMore(dense(WorkspaceMode.ENABLED), vectors());
        assertAllocatesNoMore(convolutional(WorkspaceMode.ENABLED), images());
        assertAllocatesNoMore(recurrent(WorkspaceMode.ENABLED, BackpropType.Standard), maskedSequences());
        assertAllocatesNoMore(attention(WorkspaceMode.ENABLED), maskedSequences());
    }

    private static void assertAllocatesNoMore(MultiLayerConfiguration conf, DataSet data)
            throws ReflectiveOperationException {
        MultiLayerNetwork fp32 = Networks.init(conf.clone());
        long expected = bytesOfStep(fp32, data);
        long actual = bytesOfStep(enabled(conf, Way.HALF_PRODUCTS), data);
        assertTrue(actual <= expected, () -> actual + " bytes outside workspaces, of which DL4J " + expected);
    }

    private static long bytesOfStep(MultiLayerNetwork net, DataSet data) throws ReflectiveOperationException {
        for (int step = 0; step < 4; step++) {
            net.fit(data);
        }
        return MemoryOutsideWorkspaces.bytesOf(() -> net.fit(data));
    }

    private static DataSet vectors() {
        INDArray labels = Nd4j.zeros(21, 4);
        for (int example = 0; example < 21; example++) {
            labels.putScalar(example, example % 4, 1);
        }
        return new DataSet(TestArrays.gaussian(new Random(1), 1, 21, 9), labels);
    }

    private static DataSet images() {
        Random random = new Random(2);
        return new DataSet(TestArrays.gaussian(random, 1, 8, 2, 10, 9), TestArrays.gaussian(random, 1, 8, 2));
    }

    private static DataSet maskedSequences() {
        Random random = new Random(4);
        int minibatch = 5;
        int steps = 10;
        INDArray mask = Nd4j.ones(minibatch, steps);
        for (int example = 0; example < minibatch; example++) {
            for (int time = steps - example; time < steps; time++) {
                mask.putScalar(example, time, 0);
            }
        }
        return new DataSet(
                TestArrays.gaussian(random, 1, minibatch, 3, steps),
                TestArrays.gaussian(random, 1, minibatch, 2, steps),
                mask,
                mask);
    }

    private static void compare(MultiLayerConfiguration conf, DataSet data, int halfProductTwins) {
        MultiLayerNetwork start = Networks.init(conf.clone());
        List<INDArray> changes = new ArrayList<>();
        List<INDArray> outputs = new ArrayList<>();
        for (Way way : Way.values()) {
            MultiLayerNetwork net = enabled(conf, way);
            assertEquals(way == Way.HALF_PRODUCTS ? halfProductTwins : 0, halfTwins(net));
            Nd4j.getRandom().setSeed(77);
            for (int step = 0; step < STEPS; step++) {
                net.fit(data);
            }
            changes.add(net.params().sub(start.params()));
            outputs.add(net.output(data.getFeatures(), false, data.getFeaturesMaskArray(), data.getLabelsMaskArray()));
        }
        double change = changes.get(0).norm2Number().doubleValue();
        assertTrue(change > 0.01, () -> "the network learned nothing: " + change);
        assertClose(changes.get(0), changes.get(1), 0.01);
        assertClose(outputs.get(0), outputs.get(1), 0.005);
    }

    private static void assertClose(INDArray expected, INDArray actual, double relative) {
        double distance = expected.distance2(actual) / expected.norm2Number().doubleValue();
        assertTrue(distance < relative, () -> "relative distance " + distance);
    }

    /** A network whose layers compute in HALF, as mixed precision sets it up. */
    private static MultiLayerNetwork enabled(MultiLayerConfiguration conf, Way way) {
        return enabled(conf, way, new GradientScale(() -> LOSS_SCALE, () -> false, true, false), new OpenStep());
    }

    private static MultiLayerNetwork enabled(
            MultiLayerConfiguration conf, Way way, GradientScale scale, StepGuard guard) {
        MultiLayerNetwork net = Networks.init(conf.clone());
        net.initGradientsView();
        Nd4jSession session = new Nd4jSession(net.numParams(), true, way.products());
        Layer[] layers = net.getLayers();
        for (int i = 0; i < layers.length; i++) {
            boolean last = i == layers.length - 1;
            layers[i] =
                    setup("layer" + i, layers[i], session, scale, guard, last).wrapper();
        }
        return net;
    }

    private static long halfTwins(MultiLayerNetwork net) {
        return Arrays.stream(net.getLayers())
                .filter(layer -> ((TwinLayer) layer).twin().dataType() == DataType.HALF)
                .count();
    }

    private static TwinSetup setup(
            String name, Layer master, Nd4jSession session, GradientScale scale, StepGuard guard, boolean last) {
        boolean lower = !last && !(master.conf().getLayer() instanceof BatchNormalization);
        Precision precision = lower ? Precision.HALF : Precision.FLOAT;
        Twin twin = session.twin(Chain.request(master, precision, DataType.HALF));
        DataType output = master instanceof IOutputLayer ? DataType.FLOAT : DataType.HALF;
        return new TwinSetup(name, master, twin, DataType.HALF, output, Chain.CONTEXT, scale, guard);
    }

    /** Keeps the largest gradient of each layer's input, and the layers' own scales. */
    private static final class Observer extends OpenStep implements LayerObserver {
        private final Map<String, Double> largest = new HashMap<>();
        private final Map<String, Double> scales = new HashMap<>();

        @Override
        public void output(String layer, INDArray output) {
            assertEquals(DataType.HALF, output.dataType());
        }

        @Override
        public void inputGradient(String layer, INDArray gradient, double scale) {
            largest.put(layer, gradient.amaxNumber().doubleValue());
        }

        @Override
        public void layerScale(String layer, double scale) {
            scales.put(layer, scale);
        }

        @Override
        public List<LayerObserver> layerObservers() {
            return List.of(this);
        }
    }

    /** A layer's scale takes the largest gradient that it's given, which the next one returns, to 16 or more. */
    @Test
    void observersAreNotifiedOfTheScaleThatALayerHasChosen() {
        Observer observer = new Observer();
        GradientScale ofLayers = new GradientScale(() -> 1, () -> false, true, true);
        MultiLayerNetwork net = enabled(dense(WorkspaceMode.ENABLED), Way.HALF_PRODUCTS, ofLayers, observer);
        net.fit(vectors());
        assertEquals(Set.of("layer0", "layer1"), observer.scales.keySet(), "those with twins in HALF");
        for (int i = 0; i < 2; i++) {
            double scale = observer.scales.get("layer" + i);
            double scaled = scale * observer.largest.get("layer" + (i + 1));
            assertTrue(scaled >= 16 && scaled < 32, "scaled to " + scaled);
            assertEquals(scale, Math.scalb(1.0, Math.getExponent(scale)), "a power of two");
        }
    }

    @Test
    void withALossScaleNoLayerHasOneOfItsOwn() {
        Observer observer = new Observer();
        GradientScale ofLoss = new GradientScale(() -> LOSS_SCALE, () -> false, true, false);
        enabled(dense(WorkspaceMode.ENABLED), Way.HALF_PRODUCTS, ofLoss, observer)
                .fit(vectors());
        assertEquals(Map.of(), observer.scales);
        assertEquals(Set.of("layer0", "layer1", "layer2"), observer.largest.keySet());
    }
}
