package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Consumer;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.Sgd;

/** Whatever is done to the updater of an enabled network has the effect that it has in DL4J, then and after closing. */
class UpdatersTest {
    private static final AmpConfig FLOAT =
            AmpConfig.builder().precision(Precision.FLOAT).build();

    private final DataSet data = Networks.vectors(32, 20, 3);

    // Not clones: they would share their updaters' settings.
    private static MultiLayerNetwork network(IUpdater updater) {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        setUpdaters(network, updater);
        return network;
    }

    private static void setUpdaters(MultiLayerNetwork network, IUpdater updater) {
        for (var conf : network.getLayerWiseConfigurations().getConfs()) {
            ((BaseLayer) conf.getLayer()).setIUpdater(updater.clone());
        }
    }

    static Stream<Named<Consumer<MultiLayerNetwork>>> changes() {
        return Stream.of(
                Named.of("setLearningRate", network -> network.setLearningRate(0.03)),
                Named.of("setLearningRate of one layer", network -> network.setLearningRate(1, 0.03)),
                Named.of("setUpdater", network -> network.setUpdater(new MultiLayerUpdater(network))),
                Named.of("other updaters in the configuration", network -> {
                    setUpdaters(network, new Nesterovs(0.01));
                    network.setUpdater(null);
                }),
                Named.of("setLearningRate, then clear", network -> {
                    network.setLearningRate(1, 0.03);
                    network.clear();
                }));
    }

    private static void assertSame(MultiLayerNetwork expected, MultiLayerNetwork actual) {
        assertEquals(expected.params(), actual.params());
        assertEquals(
                expected.getUpdater().getStateViewArray(), actual.getUpdater().getStateViewArray());
    }

    @ParameterizedTest
    @MethodSource("changes")
    void changesOfTheUpdaterTakeEffect(Consumer<MultiLayerNetwork> change) {
        for (IUpdater updater : new IUpdater[] {new Sgd(0.1), new Adam(0.01)}) {
            MultiLayerNetwork plain = network(updater);
            MultiLayerNetwork enabled = network(updater);
            plain.fit(data);
            enabled.fit(data);
            MixedPrecision amp = MixedPrecision.enable(enabled, FLOAT);
            for (MultiLayerNetwork network : new MultiLayerNetwork[] {plain, enabled}) {
                network.fit(data);
                change.accept(network);
                network.fit(data);
            }
            assertSame(plain, enabled);
            amp.close();
            plain.fit(data);
            enabled.fit(data);
            assertSame(plain, enabled);
        }
    }

    @ParameterizedTest
    @MethodSource("changes")
    void changesOfTheUpdaterRightBeforeClosingTakeEffect(Consumer<MultiLayerNetwork> change) {
        for (IUpdater updater : new IUpdater[] {new Sgd(0.1), new Adam(0.01)}) {
            MultiLayerNetwork plain = network(updater);
            MultiLayerNetwork enabled = network(updater);
            MixedPrecision amp = MixedPrecision.enable(enabled, FLOAT);
            for (MultiLayerNetwork network : new MultiLayerNetwork[] {plain, enabled}) {
                network.fit(data);
                change.accept(network);
            }
            amp.close();
            plain.fit(data);
            enabled.fit(data);
            assertSame(plain, enabled);
        }
    }

    private static void step(MultiLayerNetwork network, INDArray features, INDArray errors) {
        network.setInput(features);
        network.feedForward(true, false);
        Gradient gradient = network.backpropGradient(errors, LayerWorkspaceMgr.noWorkspaces())
                .getFirst();
        network.getUpdater().update(network, gradient, 0, 0, (int) features.size(0), LayerWorkspaceMgr.noWorkspaces());
        network.params().subi(gradient.gradient());
    }

    /** Without an output layer DL4J's optimizer makes no steps, and a program calls the updater. */
    @ParameterizedTest
    @MethodSource("changes")
    void errorsFromOutsideAreCheckedAfterChangesOfTheUpdater(Consumer<MultiLayerNetwork> change) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(Networks.dense(6, Activation.TANH))
                .layer(Networks.dense(3, Activation.TANH))
                .setInputType(InputType.feedForward(20))
                .build());
        INDArray errors = Nd4j.ones(32, 3);
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            step(network, data.getFeatures(), errors);
            change.accept(network);
            INDArray before = network.params().dup();
            step(network, data.getFeatures(), errors.dup().putScalar(0, Float.NaN));
            assertTrue(network.params().equals(before), "NaN moves nothing");
            step(network, data.getFeatures(), errors);
            assertFalse(network.params().equals(before), "the next step counts");
        }
    }

    private DataSet notFinite() {
        DataSet nan = data.copy();
        nan.getFeatures().putScalar(0, Float.NaN);
        return nan;
    }

    @Test
    void aStepThatEndedInAnExceptionIsNotAnIteration() {
        MultiLayerNetwork plain = network(new Adam(0.01));
        MultiLayerNetwork enabled = network(new Adam(0.01));
        DataSet nan = notFinite();
        MixedPrecision amp = MixedPrecision.enable(
                enabled,
                AmpConfig.builder()
                        .precision(Precision.FLOAT)
                        .maxConsecutiveSkips(1)
                        .build());
        for (int i = 0; i < 5; i++) {
            plain.fit(data);
            enabled.fit(data);
            assertThrows(AmpException.class, () -> enabled.fit(nan));
        }
        plain.fit(data);
        enabled.fit(data);
        assertEquals(5, amp.stepsSkipped());
        assertSame(plain, enabled);
    }

    @Test
    void anIterationCountThatIsSetIsTaken() {
        MultiLayerNetwork plain = network(new Adam(0.01));
        MultiLayerNetwork enabled = network(new Adam(0.01));
        DataSet nan = notFinite();
        MixedPrecision.enable(enabled, FLOAT);
        for (int i = 0; i < 3; i++) {
            plain.fit(data);
            enabled.fit(data);
            enabled.fit(nan);
        }
        for (MultiLayerNetwork network : new MultiLayerNetwork[] {plain, enabled}) {
            network.setIterationCount(0);
            network.fit(data);
            network.fit(data);
        }
        assertSame(plain, enabled);
    }

    /** The score of the network is that of the batch before. */
    @Test
    void anUpdateByHandDependsOnItsOwnGradients() {
        MultiLayerNetwork enabled = network(new Sgd(0.1));
        MixedPrecision amp = MixedPrecision.enable(enabled, FLOAT);
        DataSet nan = data.copy();
        nan.getLabels().putScalar(0, Float.NaN);
        enabled.fit(nan);
        Gradient gradient = enabled.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        INDArray expected = gradient.gradient().mul(0.1 / 32);
        enabled.getUpdater().update(enabled, gradient, 1, 0, 32, LayerWorkspaceMgr.noWorkspaces());
        assertEquals(expected, gradient.gradient());
        assertEquals(0, amp.stepsTaken(), "no step of DL4J's optimizer");
        enabled.fit(data);
        assertEquals(1, amp.stepsTaken());
    }

    @Test
    void updatesByHandOfInfiniteGradientsAreLeftOutAndTheScaleStays() {
        MultiLayerNetwork enabled = network(new Sgd(0.1));
        MixedPrecision amp = MixedPrecision.enable(
                enabled,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .maxConsecutiveSkips(2)
                        .build());
        Gradient gradient = enabled.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        gradient.gradient().putScalar(3, Float.POSITIVE_INFINITY);
        enabled.getUpdater().update(enabled, gradient, 0, 0, 32, LayerWorkspaceMgr.noWorkspaces());
        assertEquals(0, gradient.gradient().norm1Number().doubleValue());
        assertEquals(65536, amp.lossScale());
        assertEquals(0, amp.stepsSkipped());
        gradient.gradient().putScalar(3, Float.NaN);
        String message = assertThrows(AmpException.class, () -> enabled.getUpdater()
                        .update(enabled, gradient, 1, 0, 32, LayerWorkspaceMgr.noWorkspaces()))
                .getMessage();
        assertTrue(message.contains("by hand"), message);
    }

    /** As a ParallelWrapper makes them of graphs without workspaces: DL4J leaves a closed one as the current one. */
    @Test
    void graphsWithWorkspacesInTrainingAloneTrainAndSkip() {
        ComputationGraph stock = withWorkspacesInTraining(WorkspaceMode.ENABLED);
        ComputationGraph graph = withWorkspacesInTraining(WorkspaceMode.NONE);
        DataSet data = Networks.vectors(4, 5, 3);
        DataSet broken = data.copy();
        broken.getFeatures().putScalar(0, 1, Float.NaN);
        stock.fit(data.copy());
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("nd4j").build();
        try (MixedPrecision amp = MixedPrecision.enable(graph, config)) {
            graph.fit(broken);
            assertEquals(1, amp.stepsSkipped());
            graph.fit(data.copy());
        }
        assertArrayEquals(stock.params().toFloatVector(), graph.params().toFloatVector(), 1e-6f);
    }

    private static ComputationGraph withWorkspacesInTraining(WorkspaceMode inInference) {
        return Networks.init(Networks.builder(new Sgd(0.1))
                .trainingWorkspaceMode(WorkspaceMode.ENABLED)
                .inferenceWorkspaceMode(inInference)
                .graphBuilder()
                .addInputs("in")
                .addLayer("dense", Networks.dense(4, Activation.TANH), "in")
                .addLayer("out", Networks.softmax(3), "dense")
                .setOutputs("out")
                .setInputTypes(InputType.feedForward(5))
                .build());
    }
}
