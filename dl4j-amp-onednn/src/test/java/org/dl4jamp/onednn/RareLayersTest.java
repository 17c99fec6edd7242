package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;

/** Files in the middle of training, and several threads, for layers that few networks have. */
class RareLayersTest {
    private static final int EXAMPLES = 5;

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    @ParameterizedTest
    @EnumSource
    void aTrainingThatWasSavedGoesOnAsOneThatWasNot(RareLayers rare, @TempDir File folder) throws Exception {
        for (Precision precision : Types.precisions()) {
            File file = new File(folder, precision + ".zip");
            MultiLayerNetwork network = Networks.init(rare.network());
            try (MixedPrecision amp = MixedPrecision.enable(network, config(precision))) {
                amp.plan().rows().forEach(row -> assertEquals("onednn", row.engine(), row::toString));
                train(rare, network, 0);
                AmpModelSerializer.writeModel(network, file, true);
                MultiLayerNetwork restored = AmpModelSerializer.restoreMultiLayerNetwork(file, true);
                try (MixedPrecision ofRestored = MixedPrecision.of(restored).orElseThrow()) {
                    train(rare, network, 10);
                    train(rare, restored, 10);
                    assertEquals(2, amp.stepsSkipped());
                    assertEquals(2, ofRestored.stepsSkipped());
                    assertArrayEquals(
                            network.params().toFloatVector(), restored.params().toFloatVector(), 1e-6f);
                }
            }
        }
    }

    private static void train(RareLayers rare, MultiLayerNetwork network, int seed) {
        network.fit(rare.batch(EXAMPLES, seed));
        network.fit(rare.brokenBatch(EXAMPLES, seed + 1));
        network.fit(rare.batch(EXAMPLES, seed + 2));
    }

    @ParameterizedTest
    @EnumSource
    void twoThreadsInferAsOneDoes(RareLayers rare) throws Exception {
        for (Precision precision : Types.precisions()) {
            MultiLayerNetwork network = Networks.init(rare.network());
            try (MixedPrecision amp = MixedPrecision.enable(network, config(precision))) {
                network.fit(rare.batch(EXAMPLES, 1));
                assertInfersAlike(rare, network);
            }
            try (InferenceMode mode =
                    MixedPrecision.inference(network, config(precision).forInference())) {
                assertInfersAlike(rare, network);
            }
        }
    }

    private static void assertInfersAlike(RareLayers rare, MultiLayerNetwork network) throws Exception {
        List<DataSet> batches = List.of(rare.batch(EXAMPLES, 2), rare.batch(EXAMPLES, 3));
        List<float[]> expected =
                batches.stream().map(batch -> output(network, batch)).toList();
        ExecutorService threads = Executors.newFixedThreadPool(batches.size());
        try {
            List<Future<float[]>> outputs = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                DataSet batch = batches.get(i % 2);
                outputs.add(threads.submit(() -> output(network, batch)));
            }
            for (int i = 0; i < outputs.size(); i++) {
                assertArrayEquals(expected.get(i % 2), outputs.get(i).get(), 1e-6f);
            }
        } finally {
            threads.shutdown();
        }
    }

    private static float[] output(MultiLayerNetwork network, DataSet batch) {
        return network.output(batch.getFeatures().dup(), false, batch.getFeaturesMaskArray(), null)
                .dup('c')
                .data()
                .asFloat();
    }
}
