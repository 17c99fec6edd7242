package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.dl4jamp.OwnMeans;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.Clipping;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.AdamUpdater;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;
import org.nd4j.linalg.workspace.ND4JWorkspaceException;

/** A plan's step beside DL4J's own updater and subtraction, whatever the engine has a pass for. */
class StepPlanTest {
    private static final int EXAMPLES = 7;

    private final DataSet data = Networks.vectors(EXAMPLES, 20, 3);

    /** The passes of an engine, with ND4J's operations in them. */
    private record Passes(String name, Predicate<GradientUpdater<?>> known, List<Update> updates)
            implements StepKernels {
        @Override
        public boolean allFinite(INDArray gradients) {
            return true;
        }

        @Override
        public double norm2(List<INDArray> gradients) {
            return Math.sqrt(gradients.stream()
                    .mapToDouble(gradient -> Math.pow(gradient.norm2Number().doubleValue(), 2))
                    .sum());
        }

        @Override
        public boolean isOnePass(GradientUpdater<?> updater) {
            return known.test(updater);
        }

        @Override
        public void applyAll(List<Update> these) {
            updates.addAll(these);
            these.forEach(Update::apply);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Passes> whateverTheEngineHasAPassForTheResultIsDl4js() {
        return Stream.of(
                new Passes("none", updater -> false, new ArrayList<>()),
                new Passes("Adam", AdamUpdater.class::isInstance, new ArrayList<>()),
                new Passes("others", updater -> !(updater instanceof AdamUpdater), new ArrayList<>()),
                new Passes("all", updater -> true, new ArrayList<>()));
    }

    /** Adam and RMSProp, L2 and weight decay, clipping, and running statistics, each in a layer. */
    private static MultiLayerNetwork network() {
        BaseLayer decayed = Networks.dense(6, Activation.TANH);
        decayed.setIUpdater(new RmsProp(0.01));
        BaseLayer regularized = Networks.dense(5, Activation.TANH);
        regularized.setRegularization(List.of(new L2Regularization(0.3)));
        BaseLayer clipped = Networks.dense(4, Activation.TANH);
        clipped.setGradientNormalization(GradientNormalization.ClipElementWiseAbsoluteValue);
        clipped.setGradientNormalizationThreshold(0.003);
        BaseLayer averaged = Networks.dense(8, Activation.TANH);
        averaged.setRegularization(List.of(new WeightDecay(0.2, true)));
        return Networks.init(Networks.builder(new Adam(0.02))
                .list()
                .layer(Networks.dense(9, Activation.TANH))
                .layer(new BatchNormalization())
                .layer(decayed)
                .layer(regularized)
                .layer(clipped)
                .layer(averaged)
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
    }

    private UpdaterCall call(MultiLayerNetwork network, int iteration) {
        Gradient gradient = network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        return new UpdaterCall(gradient, iteration, 0, EXAMPLES, LayerWorkspaceMgr.noWorkspaces());
    }

    private static BaseMultiLayerUpdater<?> updater(MultiLayerNetwork network) {
        return (BaseMultiLayerUpdater<?>) network.getUpdater();
    }

    private static StepPlan plan(MultiLayerNetwork network, StepKernels kernels) {
        return new StepPlan(updater(network), network.getGradientsViewArray(), kernels, SmallSteps.UNCLIPPED);
    }

    private static double difference(INDArray expected, INDArray actual) {
        return expected.sub(actual.reshape(expected.shape())).amaxNumber().doubleValue();
    }

    @ParameterizedTest
    @MethodSource
    void whateverTheEngineHasAPassForTheResultIsDl4js(Passes passes) {
        MultiLayerNetwork expected = network();
        MultiLayerNetwork actual = network();
        actual.initGradientsView();
        StepPlan plan = plan(actual, passes);
        INDArray before = expected.params().dup();
        for (int iteration = 0; iteration < 3; iteration++) {
            UpdaterCall dl4js = call(expected, iteration);
            updater(expected).update(dl4js.gradient(), iteration, 0, EXAMPLES, dl4js.workspaceMgr());
            INDArray updates = dl4js.gradient().gradient();
            expected.params().subi(updates.reshape(expected.params().shape()));
            INDArray parameters = actual.params().dup();
            plan.run(call(actual, iteration), EXAMPLES, 1);
            assertEquals(parameters, actual.params());
            actual.params()
                    .subi(actual.getGradientsViewArray().reshape(actual.params().shape()));
            assertTrue(difference(updates, actual.getGradientsViewArray()) < 1e-7, "updates " + iteration);
        }
        assertTrue(difference(before, expected.params()) > 0.01, "the network was to learn");
        assertTrue(difference(expected.params(), actual.params()) < 1e-6);
        assertTrue(difference(
                        updater(expected).getStateViewArray(), updater(actual).getStateViewArray())
                < 1e-6);
    }

    @Test
    void onlyWhereNobodyLooksInBetweenThePassDivides() {
        MultiLayerNetwork network = network();
        network.initGradientsView();
        Passes passes = new Passes("all", updater -> true, new ArrayList<>());
        plan(network, passes).run(call(network, 0), EXAMPLES, 1);
        assertTrue(passes.updates().stream().anyMatch(update -> update.divisor() == EXAMPLES));
        assertTrue(
                passes.updates().stream().anyMatch(update -> update.divisor() == 1),
                "L2, clipping, running statistics");
    }

    @Test
    void otherTermsWantAnotherPlan() {
        MultiLayerNetwork network = network();
        network.initGradientsView();
        StepPlan plan = plan(network, StepKernels.nd4j());
        assertTrue(plan.isUpToDate());
        BaseLayer first = (BaseLayer) network.getLayer(0).conf().getLayer();
        first.setRegularization(List.of(new L2Regularization(0.1)));
        assertFalse(plan.isUpToDate());
        first.setRegularization(List.of());
        assertTrue(plan.isUpToDate());
        first.setRegularization(List.of(new WeightDecay(0.1, true)));
        assertTrue(plan.isUpToDate(), "what comes after the updater is added as it is then");
        first.setGradientNormalization(GradientNormalization.ClipL2PerLayer);
        assertFalse(plan.isUpToDate());
    }

    /** Means, sums, running statistics, sums and centers, in this order. */
    private static MultiLayerNetwork ofEachKind() {
        return Networks.init(Networks.builder(new Sgd(1))
                .list()
                .layer(new OwnMeans(2))
                .layer(new BatchNormalization())
                .layer(new CenterLossOutputLayer.Builder()
                        .nOut(2)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.feedForward(3))
                .build());
    }

    /** Asserts the updates of gradients that are all the same: those of each kind, in the order of the view. */
    private static void assertUpdates(
            Passes passes, Clipping limits, double factor, float means, float sums, float statistics, float centers) {
        MultiLayerNetwork network = ofEachKind();
        network.initGradientsView();
        INDArray view = network.getGradientsViewArray();
        view.assign(8);
        StepPlan plan = new StepPlan(updater(network), view, passes, limits);
        UpdaterCall call = new UpdaterCall(new DefaultGradient(view), 0, 0, 4, LayerWorkspaceMgr.noWorkspaces());
        plan.run(call, 4, factor);
        float[] expected = new float[26];
        Arrays.fill(expected, 0, 6, means);
        Arrays.fill(expected, 6, 12, sums);
        Arrays.fill(expected, 12, 16, statistics);
        Arrays.fill(expected, 16, 22, sums);
        Arrays.fill(expected, 22, 26, centers);
        assertArrayEquals(expected, view.ravel().toFloatVector(), 1e-6f, passes.name());
    }

    @ParameterizedTest
    @MethodSource("whateverTheEngineHasAPassForTheResultIsDl4js")
    void eachKindOfNumberIsDividedAndClippedInItsWay(Passes passes) {
        Clipping values = new Clipping(OptionalDouble.empty(), OptionalDouble.of(0.75));
        assertUpdates(passes, SmallSteps.UNCLIPPED, 1, 8, 2, 8, 2);
        assertUpdates(passes, SmallSteps.UNCLIPPED, 0.5, 4, 1, 8, 2);
        assertUpdates(passes, values, 1, 0.75f, 0.75f, 8, 2);
        assertUpdates(passes, values, 0.5, 0.75f, 0.75f, 8, 2);
    }

    @Test
    void theNormsLimitIsInTheDivisorOfThePass() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        network.initGradientsView();
        INDArray view = network.getGradientsViewArray();
        view.assign(8);
        Passes passes = new Passes("all", updater -> true, new ArrayList<>());
        UpdaterCall call = new UpdaterCall(new DefaultGradient(view), 0, 0, 4, LayerWorkspaceMgr.noWorkspaces());
        new StepPlan(updater(network), view, passes, SmallSteps.UNCLIPPED).run(call, 4, 0.5);
        assertEquals(
                List.of(8f),
                passes.updates().stream().map(StepKernels.Update::divisor).toList());
        assertEquals(1, view.getFloat(0));
        assertEquals(1, view.getFloat(view.length() - 1));
    }

    @Test
    void workingMemoryThatIsOpenIsRefusedAsInDl4j() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        network.initGradientsView();
        INDArray view = network.getGradientsViewArray();
        LayerWorkspaceMgr workspaces = LayerWorkspaceMgr.builder()
                .with(
                        ArrayType.UPDATER_WORKING_MEM,
                        "UPDATES",
                        WorkspaceConfiguration.builder().initialSize(1024).build())
                .build();
        UpdaterCall call = new UpdaterCall(new DefaultGradient(view), 0, 0, 4, workspaces);
        StepPlan plan = plan(network, StepKernels.nd4j());
        try (MemoryWorkspace open = workspaces.notifyScopeEntered(ArrayType.UPDATER_WORKING_MEM)) {
            assertThrows(ND4JWorkspaceException.class, () -> plan.run(call, 4, 1));
        }
        plan.run(call, 4, 1);
    }
}
