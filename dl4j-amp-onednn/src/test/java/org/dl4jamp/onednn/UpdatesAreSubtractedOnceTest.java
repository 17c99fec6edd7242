package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.stepfunctions.NegativeDefaultStepFunction;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.solvers.accumulation.BasicGradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.LocalHandler;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Updates are returned to their caller, and each is subtracted once: by DL4J's optimizer within {@code fit}, else by
 * the caller. {@link MinibatchDivisionTest} shows that all kinds of parameters end as in DL4J.
 */
class UpdatesAreSubtractedOnceTest {
    private static NeuralNetConfiguration.Builder conf() {
        return new NeuralNetConfiguration.Builder().seed(3).updater(new Adam(0.02));
    }

    private static MultiLayerNetwork network() {
        return Networks.init(conf().list()
                .layer(Networks.dense(12, Activation.RELU))
                .layer(new BatchNormalization())
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(5))
                .build());
    }

    private static float[] numbers(INDArray array) {
        return array.reshape(array.length()).toFloatVector();
    }

    private static GradientsAccumulator accumulator(Model model) {
        return model.getOptimizer().getGradientsAccumulator();
    }

    @Test
    void anUpdateByHandInAListenerOfAnotherNetworkIsSubtractedOnce() {
        MultiLayerNetwork expected = network();
        MultiLayerNetwork actual = network();
        MixedPrecision amp = MixedPrecision.enable(actual, MinibatchDivisionTest.inFloat());
        for (MultiLayerNetwork network : List.of(expected, actual)) {
            MultiLayerNetwork other = network();
            other.setListeners(new BaseTrainingListener() {
                @Override
                public void onGradientCalculation(Model model) {
                    DataSet batch = MinibatchDivisionTest.batch(1);
                    var gradient = network.calculateGradients(batch.getFeatures(), batch.getLabels(), null, null)
                            .getFirst();
                    network.getUpdater()
                            .update(network, gradient, 0, 0, batch.numExamples(), LayerWorkspaceMgr.noWorkspaces());
                    network.params().subi(gradient.gradient());
                }
            });
            network.fit(MinibatchDivisionTest.batch(0));
            other.fit(MinibatchDivisionTest.batch(0));
        }
        assertEquals(1, amp.stepsTaken(), "the optimizer's");
        assertArrayEquals(numbers(expected.params()), numbers(actual.params()), 1e-5f);
    }

    @Test
    void anEnabledNetworkHasNoAccumulatorThatNobodyHasGivenIt() {
        for (Model network : List.of(network(), network().toComputationGraph())) {
            try (MixedPrecision amp = MixedPrecision.enable(network, MinibatchDivisionTest.inFloat())) {
                if (network instanceof ComputationGraph graph) {
                    graph.fit(MinibatchDivisionTest.batch(0));
                } else {
                    ((MultiLayerNetwork) network).fit(MinibatchDivisionTest.batch(0));
                }
                assertEquals(1, amp.stepsTaken());
                assertNull(accumulator(network));
            }
            assertNull(accumulator(network));
        }
    }

    @Test
    void listenersSeeUpdatesAndTheParametersAfterThem() {
        MultiLayerNetwork fp32 = network();
        MultiLayerNetwork network = network();
        List<INDArray> expected = new ArrayList<>();
        List<INDArray> actual = new ArrayList<>();
        fp32.addListeners(new Copies(expected));
        network.addListeners(new Copies(actual));
        try (MixedPrecision amp = MixedPrecision.enable(network, MinibatchDivisionTest.inFloat())) {
            for (int step = 0; step < 3; step++) {
                fp32.fit(MinibatchDivisionTest.batch(step));
                network.fit(MinibatchDivisionTest.batch(step));
            }
        }
        assertEquals(6, actual.size());
        for (int i = 0; i < expected.size(); i++) {
            Agreement.assertWithin("copy " + i, expected.get(i), actual.get(i), 1e-5);
        }
    }

    private static final class Copies extends BaseTrainingListener {
        private final List<INDArray> copies;

        Copies(List<INDArray> copies) {
            this.copies = copies;
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            copies.add(model.gradient().gradient().dup());
            copies.add(model.params().dup());
        }
    }

    /** The updates of one step that is taken by hand, and subtracted by hand. */
    private static void stepByHand(MultiLayerNetwork network, DataSet data) {
        network.setInput(data.getFeatures());
        network.setLabels(data.getLabels());
        network.computeGradientAndScore();
        INDArray before = network.params().dup();
        network.getUpdater()
                .update(
                        network,
                        network.gradient(),
                        network.getIterationCount(),
                        network.getEpochCount(),
                        MinibatchDivisionTest.MINIBATCH,
                        LayerWorkspaceMgr.noWorkspaces());
        assertArrayEquals(
                numbers(before), numbers(network.params()), "an updater that is called by hand moves no parameters");
        network.params()
                .subi(network.gradient().gradient().reshape(network.params().shape()));
        network.setIterationCount(network.getIterationCount() + 1);
    }

    @Test
    void whoeverCallsTheUpdaterByHandSubtractsByHand() {
        MultiLayerNetwork fp32 = network();
        MultiLayerNetwork network = network();
        try (MixedPrecision amp = MixedPrecision.enable(network, MinibatchDivisionTest.inFloat())) {
            for (int step = 0; step < 6; step += 2) {
                fp32.fit(MinibatchDivisionTest.batch(step));
                network.fit(MinibatchDivisionTest.batch(step));
                fp32.fit(MinibatchDivisionTest.batch(step + 1));
                stepByHand(network, MinibatchDivisionTest.batch(step + 1));
            }
            assertEquals(3, amp.stepsTaken(), "the optimizer's");
        }
        Agreement.assertWithin("parameters", fp32.params(), network.params(), 1e-5);
    }

    @Test
    void alsoAfterAStepThatFailed() {
        MultiLayerNetwork fp32 = network();
        MultiLayerNetwork network = network();
        DataSet wrong = new DataSet(
                gaussian(new Random(1), 1, MinibatchDivisionTest.MINIBATCH, 4),
                MinibatchDivisionTest.batch(0).getLabels());
        try (MixedPrecision amp = MixedPrecision.enable(network, MinibatchDivisionTest.inFloat())) {
            assertThrows(RuntimeException.class, () -> network.fit(wrong));
            stepByHand(network, MinibatchDivisionTest.batch(0));
            network.fit(MinibatchDivisionTest.batch(1));
        }
        fp32.fit(MinibatchDivisionTest.batch(0));
        fp32.fit(MinibatchDivisionTest.batch(1));
        Agreement.assertWithin("parameters", fp32.params(), network.params(), 1e-5);
    }

    @Test
    void aSkippedStepMovesNothing() {
        MultiLayerNetwork network = network();
        DataSet bad = MinibatchDivisionTest.batch(1);
        bad.getFeatures().putScalar(0, 0, Float.NaN);
        try (MixedPrecision amp = MixedPrecision.enable(network, MinibatchDivisionTest.inFloat())) {
            network.fit(MinibatchDivisionTest.batch(0));
            INDArray before = network.params().dup();
            network.fit(bad);
            assertEquals(1, amp.stepsSkipped());
            assertArrayEquals(numbers(before), numbers(network.params()));
            network.fit(MinibatchDivisionTest.batch(2));
            assertFalse(before.equals(network.params()));
        }
    }

    @Test
    void anotherAccumulatorIsLeftWhereItIs() {
        MultiLayerNetwork fp32 = network();
        MultiLayerNetwork before = network();
        MultiLayerNetwork meanwhile = network();
        GradientsAccumulator first = new BasicGradientsAccumulator(1, new LocalHandler());
        GradientsAccumulator second = new BasicGradientsAccumulator(1, new LocalHandler());
        before.setGradientsAccumulator(first);
        try (MixedPrecision one = MixedPrecision.enable(before, MinibatchDivisionTest.inFloat());
                MixedPrecision two = MixedPrecision.enable(meanwhile, MinibatchDivisionTest.inFloat())) {
            meanwhile.setGradientsAccumulator(second);
            for (int step = 0; step < 3; step++) {
                fp32.fit(MinibatchDivisionTest.batch(step));
                before.fit(MinibatchDivisionTest.batch(step));
                meanwhile.fit(MinibatchDivisionTest.batch(step));
            }
            assertSame(first, accumulator(before));
            assertSame(second, accumulator(meanwhile));
            meanwhile.setGradientsAccumulator(null);
            fp32.fit(MinibatchDivisionTest.batch(3));
            before.fit(MinibatchDivisionTest.batch(3));
            meanwhile.fit(MinibatchDivisionTest.batch(3));
        }
        assertSame(first, accumulator(before));
        assertNull(accumulator(meanwhile));
        Agreement.assertWithin("accumulator from before", fp32.params(), before.params(), 1e-5);
        Agreement.assertWithin("accumulator from meanwhile", fp32.params(), meanwhile.params(), 1e-5);
    }

    @Test
    void anotherStepFunctionIsDl4jsBusiness() {
        MultiLayerNetwork fp32 = network();
        MultiLayerNetwork network = network();
        for (MultiLayerNetwork one : List.of(fp32, network)) {
            one.conf().setStepFunction(new NegativeDefaultStepFunction());
            one.clear();
        }
        try (MixedPrecision amp = MixedPrecision.enable(network, MinibatchDivisionTest.inFloat())) {
            for (int step = 0; step < 3; step++) {
                fp32.fit(MinibatchDivisionTest.batch(step));
                network.fit(MinibatchDivisionTest.batch(step));
            }
            assertNull(accumulator(network));
            assertEquals(3, amp.stepsTaken());
        }
        assertTrue(network().params().distance2(network.params()) > 0.01, "the network was to learn");
        Agreement.assertWithin("parameters", fp32.params(), network.params(), 1e-5);
    }
}
