package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelInference;
import org.deeplearning4j.parallelism.inference.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AmpInferenceTest {
    private static final int CALLERS = 4;

    private final List<DataSet> batches = Replicas.batches(24, 8, 3);

    static INDArray output(Model net, INDArray features) {
        return net instanceof ComputationGraph graph
                ? graph.outputSingle(features)
                : ((MultiLayerNetwork) net).output(features);
    }

    /** What the network gives in FP32 and in mixed precision. */
    private record Expected(List<INDArray> full, List<INDArray> mixed) {
        static Expected of(Model net, List<DataSet> batches) {
            List<INDArray> full = outputs(net, batches);
            try (org.dl4jamp.InferenceMode mode = Enabling.infer(net, Optional.of(Replicas.half()))) {
                assertFalse(mode.isClosed());
                return new Expected(full, outputs(net, batches));
            }
        }

        private static List<INDArray> outputs(Model net, List<DataSet> batches) {
            return batches.stream()
                    .map(batch -> output(net, batch.getFeatures()).dup())
                    .toList();
        }
    }

    private void assertMixed(Expected expected, ParallelInference inference) throws Exception {
        ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
        try {
            List<Future<INDArray>> outputs = new ArrayList<>();
            batches.forEach(batch -> outputs.add(
                    callers.submit(() -> inference.output(batch.getFeatures()).dup())));
            double fromMixed = 0;
            double fromFull = 0;
            for (int i = 0; i < outputs.size(); i++) {
                INDArray output = outputs.get(i).get();
                fromMixed += output.distance1(expected.mixed().get(i));
                fromFull += output.distance1(expected.full().get(i));
            }
            // Batches of another size are summed in another order, so that single numbers round to the next one.
            assertTrue(
                    fromMixed < 0.3 * fromFull,
                    fromMixed + " from mixed precision, " + fromFull + " from FP32's output");
            assertTrue(
                    fromFull < 1e-2 * outputs.size() * batches.get(0).numExamples(), fromFull + " from FP32's output");
        } finally {
            callers.shutdown();
        }
    }

    private static ParallelInference inHalf(Model net, int workers, InferenceMode mode) {
        return AmpInference.builder(net)
                .config(Replicas.half())
                .workers(workers)
                .inferenceMode(mode)
                .build();
    }

    @ParameterizedTest
    @CsvSource({
        "SEQUENTIAL, false",
        "SEQUENTIAL, true",
        "BATCHED, false",
        "BATCHED, true",
        "INPLACE, false",
        "INPLACE, true"
    })
    void everyReplicaAnswersInMixedPrecision(InferenceMode mode, boolean graph) throws Exception {
        Model net = Replicas.initialized(graph);
        Replicas.fit(net, batches.get(0));
        Expected expected = Expected.of(net, batches);
        ParallelInference inference = inHalf(net, 3, mode);
        try {
            assertMixed(expected, inference);
            assertTrue(MixedPrecision.of(net).isEmpty());
        } finally {
            inference.shutdown();
        }
    }

    @ParameterizedTest
    @EnumSource(InferenceMode.class)
    void noCopyOfTheWeightsIsLeftAfterShutdown(InferenceMode mode) throws Exception {
        Model net = Replicas.initialized(false);
        INDArray parameters = net.params().dup();
        INDArray features = batches.get(0).getFeatures();
        long before = AlignedMemory.held();
        ParallelInference inference = AmpInference.builder(net)
                .config(AmpConfig.builder().engine("onednn").build())
                .workers(2)
                .inferenceMode(mode)
                .build();
        inference.output(features);
        assertTrue(AlignedMemory.held() > before, "weights are arranged once, and kept");
        inference.updateModel(Replicas.initialized(false));
        inference.output(features);
        inference.shutdown();
        assertEquals(before, AlignedMemory.held());
        assertEquals(parameters, net.params());
        Replicas.fit(net, batches.get(0));
    }

    @Test
    void replicasThatShareTheNetworksParametersNoticeWhenTheseChange() throws Exception {
        assertFollows(InferenceMode.INPLACE, (net, trained, inference) -> net.setParams(trained.params()));
    }

    @ParameterizedTest
    @EnumSource(InferenceMode.class)
    void anotherModelTakesTheFirstOnesPlace(InferenceMode mode) throws Exception {
        assertFollows(mode, (net, trained, inference) -> inference.updateModel(trained));
    }

    /** A change from a network, in inference, to what was trained. */
    private interface Change {
        void make(Model net, Model trained, ParallelInference inference);
    }

    private void assertFollows(InferenceMode mode, Change change) throws Exception {
        Model net = Replicas.initialized(false);
        Model trained = Replicas.initialized(false);
        batches.forEach(batch -> Replicas.fit(trained, batch));
        ParallelInference inference = inHalf(net, 2, mode);
        try {
            assertMixed(Expected.of(net, batches), inference);
            change.make(net, trained, inference);
            assertMixed(Expected.of(trained, batches), inference);
        } finally {
            inference.shutdown();
        }
    }

    @ParameterizedTest
    @EnumSource(InferenceMode.class)
    void settingsAreThoseOfTheNetworkUnlessOthersAreGiven(InferenceMode mode) throws Exception {
        Model net = Replicas.initialized(false);
        Expected expected = Expected.of(net, batches);
        try (MixedPrecision amp = MixedPrecision.enable((MultiLayerNetwork) net, Replicas.half())) {
            ParallelInference inference =
                    AmpInference.builder(net).workers(2).inferenceMode(mode).build();
            try {
                assertMixed(expected, inference);
                assertEquals(0, amp.stepsTaken());
            } finally {
                inference.shutdown();
            }
        }
    }

    static AmpConfig fullPrecision() {
        return AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
    }

    /** Layers that the oneDNN engine repeats in tiles of many examples. */
    static MultiLayerNetwork wide() {
        return Networks.init(Networks.builder(new Sgd(1e-3))
                .list()
                .layer(Networks.dense(256, Activation.RELU))
                .layer(Networks.dense(256, Activation.RELU))
                .layer(Networks.dense(256, Activation.RELU))
                .layer(Networks.softmax(4))
                .setInputType(InputType.feedForward(20))
                .build());
    }

    @ParameterizedTest
    @EnumSource(InferenceMode.class)
    void replicasRepeatPassesOfManyExamples(InferenceMode mode) throws Exception {
        int examples = 9001 * Runtime.getRuntime().availableProcessors();
        MultiLayerNetwork net = wide();
        List<INDArray> features = new ArrayList<>();
        List<INDArray> expected = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            features.add(Networks.gaussian(i, examples, 20));
            expected.add(net.output(features.get(i)));
        }
        ParallelInference inference = AmpInference.builder(net)
                .config(fullPrecision())
                .workers(2)
                .batchLimit(1)
                .inferenceMode(mode)
                .build();
        long before = Repetition.repeated();
        try {
            for (int pass = 0; pass < 15; pass++) {
                INDArray output = inference.output(features.get(pass % 3));
                double norm = expected.get(pass % 3).norm2Number().doubleValue();
                assertEquals(0, output.distance2(expected.get(pass % 3)), 1e-5 * norm, "pass " + pass);
            }
            assertTrue(Repetition.repeated() > before, "repeated");
        } finally {
            inference.shutdown();
        }
    }
}
