package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.ModelAdapter;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.InplaceParallelInference;
import org.deeplearning4j.parallelism.ParallelInference;
import org.deeplearning4j.parallelism.inference.InferenceMode;
import org.deeplearning4j.parallelism.inference.LoadBalanceMode;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Requests that are computed in the caller's thread, by {@link org.dl4jamp.InferenceMode#output} where that can be. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InplaceAmpInferenceTest {
    /** A graph with a group of layers, whose passes the oneDNN engine repeats. */
    private static ComputationGraph wideGraph(String... outputs) {
        ComputationGraphConfiguration.GraphBuilder builder = Networks.builder(new Sgd(1e-3))
                .graphBuilder()
                .addInputs("in")
                .addLayer("a", Networks.dense(40, Activation.IDENTITY), "in")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "a")
                .addLayer("b", Networks.dense(40, Activation.TANH), "relu");
        for (String output : outputs) {
            builder.addLayer(output, Networks.softmax(4), "b");
        }
        return Networks.init(builder.setOutputs(outputs)
                .setInputTypes(InputType.feedForward(20))
                .build());
    }

    private static ParallelInference inplace(Model net, AmpConfig config, int workers, LoadBalanceMode balance) {
        return AmpInference.builder(net)
                .config(config)
                .workers(workers)
                .inferenceMode(InferenceMode.INPLACE)
                .loadBalanceMode(balance)
                .build();
    }

    private static ParallelInference inFullPrecision(Model net, int workers) {
        return inplace(net, AmpInferenceTest.fullPrecision(), workers, LoadBalanceMode.FIFO);
    }

    @ParameterizedTest
    @CsvSource({
        "false, FIFO, false",
        "true, FIFO, false",
        "false, ROUND_ROBIN, false",
        "true, ROUND_ROBIN, false",
        "false, FIFO, true",
        "true, ROUND_ROBIN, true"
    })
    void replicasInTheCallersThreadDoWithoutDl4jsLoop(boolean graph, LoadBalanceMode balance, boolean mixed) {
        Model net = graph ? wideGraph("out") : AmpInferenceTest.wide();
        Model other = graph ? wideGraph("out") : AmpInferenceTest.wide();
        other.params().muli(0.5);
        AmpConfig config = mixed ? Replicas.oneDnn() : AmpInferenceTest.fullPrecision();
        ParallelInference inference = inplace(net, config, 2, balance);
        try {
            assertDirect(net, config, inference);
            net.params().muli(0.8);
            assertDirect(net, config, inference);
            inference.updateModel(other);
            assertDirect(other, config, inference);
        } finally {
            inference.shutdown();
        }
        INDArray x = Networks.gaussian(1, 5, 20);
        long before = Repetition.direct();
        assertEquals(
                0, inference.output(x).distance2(AmpInferenceTest.output(other, x)), 1e-6, "as DL4J's, after shutdown");
        assertEquals(before, Repetition.direct());
    }

    /** Both replicas of the thread do so, and give the very numbers of the network's own method. */
    private static void assertDirect(Model net, AmpConfig config, ParallelInference inference) {
        long before = Repetition.direct();
        List<INDArray> kept = new ArrayList<>();
        for (int pass = 0; pass < 20; pass++) {
            kept.add(inference.output(Networks.gaussian(pass, 5, 20)));
        }
        long direct = Repetition.direct() - before;
        assertTrue(direct >= 10, direct + " of 20 passes");
        try (org.dl4jamp.InferenceMode mode = Enabling.infer(net, Optional.of(config))) {
            assertEquals("onednn", mode.engine());
            for (int pass = 0; pass < 20; pass++) {
                INDArray expected = AmpInferenceTest.output(net, Networks.gaussian(pass, 5, 20));
                assertEquals(0, kept.get(pass).distance2(expected), "pass " + pass);
            }
        }
    }

    /** Each request is answered by the model of before or after, and none fails. */
    @ParameterizedTest
    @EnumSource(LoadBalanceMode.class)
    void modelsChangeBetweenRequestsOfOtherThreads(LoadBalanceMode balance) throws Exception {
        List<Model> models = List.of(AmpInferenceTest.wide(), AmpInferenceTest.wide());
        models.get(1).params().muli(0.5);
        INDArray x = Networks.gaussian(1, 5, 20);
        List<INDArray> expected = models.stream()
                .map(model -> AmpInferenceTest.output(model, x).dup())
                .toList();
        assertTrue(expected.get(0).distance2(expected.get(1)) > 1e-2);
        ParallelInference inference = inplace(models.get(0), AmpInferenceTest.fullPrecision(), 2, balance);
        AtomicBoolean done = new AtomicBoolean();
        ExecutorService callers = Executors.newFixedThreadPool(4);
        try {
            List<Future<Integer>> requests = new ArrayList<>();
            for (int caller = 0; caller < 4; caller++) {
                requests.add(callers.submit(() -> {
                    int made = 0;
                    for (; made == 0 || !done.get(); made++) {
                        INDArray output = inference.output(x);
                        double distance =
                                Math.min(output.distance2(expected.get(0)), output.distance2(expected.get(1)));
                        assertEquals(0, distance, 1e-5, "request " + made);
                    }
                    return made;
                }));
            }
            for (int change = 1; change <= 6; change++) {
                Thread.sleep(100);
                inference.updateModel(models.get(change % 2));
            }
            inference.shutdown();
            Thread.sleep(100);
            done.set(true);
            for (Future<Integer> request : requests) {
                assertTrue(request.get() > 0);
            }
        } finally {
            done.set(true);
            callers.shutdown();
        }
    }

    @ParameterizedTest
    @EnumSource(LoadBalanceMode.class)
    void aModelThatTheSettingsDontFitLeavesTheOneOfBefore(LoadBalanceMode balance) {
        ComputationGraph net = wideGraph("out");
        INDArray x = Networks.gaussian(1, 5, 20);
        INDArray mask = Nd4j.createFromArray(new float[][] {{1}, {0}, {1}, {1}, {1}});
        INDArray masked = net.output(false, new INDArray[] {x}, new INDArray[] {mask})[0];
        AmpConfig config =
                AmpInferenceTest.fullPrecision().toBuilder().keepFull("out").build();
        ParallelInference inference = inplace(net, config, 2, balance);
        try {
            for (Model other : List.of(wideGraph("renamed"), AmpInferenceTest.wide())) {
                String message = assertThrows(AmpException.class, () -> inference.updateModel(other))
                        .getMessage();
                assertTrue(message.contains("matches no layer"), message);
            }
            assertEquals(0, inference.output(x, mask).distance2(masked), 1e-5, "by DL4J's loop");
            for (int pass = 0; pass < 9; pass++) {
                assertEquals(0, inference.output(x).distance2(AmpInferenceTest.output(net, x)), 1e-5, "pass " + pass);
            }
            net.params().muli(0.5);
            assertEquals(0, inference.output(x).distance2(AmpInferenceTest.output(net, x)), 1e-5, "follows");
        } finally {
            inference.shutdown();
        }
    }

    private static INDArray adapt(ParallelInference inference, INDArray x, Function<Model, INDArray> adapter) {
        ModelAdapter<INDArray> used = new ModelAdapter<>() {
            private static final long serialVersionUID = 1L;

            @Override
            public INDArray apply(Model model, INDArray[] inputs, INDArray[] masks, INDArray[] labelsMasks) {
                return adapter.apply(model);
            }

            @Override
            public INDArray apply(INDArray... outputs) {
                return outputs[0];
            }
        };
        return ((InplaceParallelInference) inference).output(used, new INDArray[] {x}, null, null);
    }

    /** The request waits for the replica, and the other call for the request. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anAdapterGivesItsReplicaToARequestThatAnotherCallWaitsFor(boolean updates) throws Exception {
        MultiLayerNetwork net = AmpInferenceTest.wide();
        INDArray x = Networks.gaussian(1, 5, 20);
        INDArray expected = AmpInferenceTest.output(net, x);
        ParallelInference inference = inFullPrecision(net, 1);
        ExecutorService pool = Executors.newFixedThreadPool(3);
        CountDownLatch adapts = new CountDownLatch(1);
        CountDownLatch others = new CountDownLatch(1);
        try {
            Future<INDArray> adapted = pool.submit(() -> adapt(inference, x, model -> {
                adapts.countDown();
                try {
                    others.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                return AmpInferenceTest.output(model, x);
            }));
            adapts.await();
            Future<INDArray> request = pool.submit(() -> inference.output(x));
            Thread.sleep(200);
            Future<?> other = pool.submit(() -> {
                if (updates) {
                    inference.updateModel(net);
                } else {
                    inference.shutdown();
                }
            });
            Thread.sleep(200);
            others.countDown();
            assertEquals(0, adapted.get(20, TimeUnit.SECONDS).distance2(expected), 1e-5);
            assertEquals(0, request.get(20, TimeUnit.SECONDS).distance2(expected), 1e-5);
            other.get(20, TimeUnit.SECONDS);
            assertEquals(0, inference.output(x).distance2(expected), 1e-5);
        } finally {
            pool.shutdownNow();
            inference.shutdown();
        }
    }

    @Test
    void aReplicaThatAnAdapterHasWhileTheModelChangesAnswersNoMore() {
        MultiLayerNetwork net = AmpInferenceTest.wide();
        MultiLayerNetwork other = AmpInferenceTest.wide();
        other.params().muli(0.5);
        INDArray x = Networks.gaussian(1, 5, 20);
        ParallelInference inference = inFullPrecision(net, 1);
        try {
            INDArray adapted = adapt(inference, x, model -> {
                inference.updateModel(other);
                return AmpInferenceTest.output(model, x);
            });
            assertEquals(0, adapted.distance2(AmpInferenceTest.output(net, x)), 1e-5);
            for (int pass = 0; pass < 3; pass++) {
                assertEquals(0, inference.output(x).distance2(AmpInferenceTest.output(other, x)), 1e-5, "pass " + pass);
            }
        } finally {
            inference.shutdown();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void masksGoThroughDl4jsLoop(boolean graph) {
        Model net = graph ? wideGraph("out") : AmpInferenceTest.wide();
        INDArray x = Networks.gaussian(3, 3, 20);
        INDArray mask = Nd4j.createFromArray(new float[][] {{1}, {0}, {1}});
        INDArray expected = graph
                ? ((ComputationGraph) net).output(false, new INDArray[] {x}, new INDArray[] {mask})[0]
                : ((MultiLayerNetwork) net).output(x, false, mask, null);
        assertTrue(expected.distance2(AmpInferenceTest.output(net, x)) > 1e-2);
        ParallelInference inference = inFullPrecision(net, 2);
        try {
            for (int pass = 0; pass < 12; pass++) {
                assertEquals(0, inference.output(x, mask).distance2(expected), 1e-5, "masked, pass " + pass);
                assertEquals(0, inference.output(x).distance2(AmpInferenceTest.output(net, x)), 1e-5, "pass " + pass);
            }
        } finally {
            inference.shutdown();
        }
    }

    @Test
    void severalOutputsAreAllReturned() {
        ComputationGraph net = wideGraph("one", "two");
        INDArray x = Networks.gaussian(4, 5, 20);
        INDArray[] expected = net.output(x);
        ParallelInference inference = inFullPrecision(net, 2);
        try {
            for (int pass = 0; pass < 12; pass++) {
                INDArray[] outputs = inference.output(new INDArray[] {x});
                assertEquals(2, outputs.length);
                for (int i = 0; i < 2; i++) {
                    assertEquals(0, outputs[i].distance2(expected[i]), 1e-5, "output " + i + " of pass " + pass);
                }
            }
        } finally {
            inference.shutdown();
        }
    }

    @Test
    void severalInputsAreAllRead() {
        ComputationGraph net = Networks.init(Networks.builder(new Sgd(1e-3))
                .graphBuilder()
                .addInputs("one", "two")
                .addLayer("a", Networks.dense(40, Activation.RELU), "one", "two")
                .addLayer("out", Networks.softmax(4), "a")
                .setOutputs("out")
                .setInputTypes(InputType.feedForward(20), InputType.feedForward(7))
                .build());
        INDArray[] x = {Networks.gaussian(1, 5, 20), Networks.gaussian(2, 5, 7)};
        INDArray expected = net.outputSingle(x);
        ParallelInference inference = inFullPrecision(net, 2);
        try {
            assertEquals(0, inference.output(x)[0].distance2(expected), 1e-5);
            // As DL4J's, which names the number of inputs.
            String message = assertThrows(RuntimeException.class, () -> inference.output(x[0]))
                    .getMessage();
            String own = assertThrows(RuntimeException.class, () -> net.outputSingle(x[0]))
                    .getMessage();
            assertEquals(own, message);
        } finally {
            inference.shutdown();
        }
    }

    /** DL4J's parallel inference passes on what its network throws. */
    @Test
    void featuresThatDontFitAreRefusedAsByTheNetwork() {
        MultiLayerNetwork net = AmpInferenceTest.wide();
        INDArray x = Nd4j.ones(DataType.FLOAT, 5, 21);
        String expected =
                assertThrows(RuntimeException.class, () -> net.output(x)).getMessage();
        ParallelInference inference = inFullPrecision(net, 2);
        try {
            assertDirect(net, AmpInferenceTest.fullPrecision(), inference);
            String message = assertThrows(RuntimeException.class, () -> inference.output(x))
                    .getMessage();
            assertEquals(expected.lines().findFirst(), message.lines().findFirst());
            assertDirect(net, AmpInferenceTest.fullPrecision(), inference);
        } finally {
            inference.shutdown();
        }
    }
}
