package org.dl4jamp.soak;

import java.util.Random;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A hundred networks in one JVM, one after the other: closed, or dropped as they are. */
class NetworksSoak {
    private static final int NETWORKS = 100;
    private static final int STEPS = 5;
    private static final int EVERY = 4;

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void aHundredNetworksTakeTheMemoryOfSome(boolean closed) {
        ProcessMemory memory = new ProcessMemory();
        Random random = new Random(1);
        for (int i = 0; i < NETWORKS; i++) {
            live(SoakNetwork.draw(random), random, closed);
            if (i % EVERY == 0) {
                memory.sample("network " + i);
            }
        }
        memory.assertFlat();
    }

    private static void live(SoakNetwork kind, Random random, boolean closed) {
        MultiLayerNetwork network = kind.network();
        AmpConfig config = AmpConfig.builder()
                .engine("onednn")
                .precision(random.nextBoolean() ? Precision.FLOAT : Precision.AUTO)
                .build();
        MixedPrecision amp = MixedPrecision.enable(network, config);
        for (int step = 0; step < STEPS; step++) {
            network.fit(kind.batch(random, 1 + random.nextInt(20)));
        }
        if (closed) {
            amp.close();
            try (InferenceMode mode = MixedPrecision.inference(network, config)) {
                network.output(kind.batch(random, 7).getFeatures());
            }
            network.close();
        }
    }
}
