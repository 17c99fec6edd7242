package org.dl4jamp.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A network of sequences that is given a thousand lengths, in random order. */
class LengthsSoak {
    private static final int LENGTHS = 1000;
    private static final int SAMPLES = 40;

    private static List<Integer> lengths() {
        List<Integer> lengths = IntStream.range(1, LENGTHS).boxed().collect(Collectors.toCollection(ArrayList::new));
        Collections.shuffle(lengths, new Random(3));
        // DL4J's workspaces are as large as the longest needs.
        lengths.add(0, LENGTHS);
        return lengths;
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aThousandLengthsTakeTheMemoryOfSome(Precision precision) {
        ProcessMemory memory = new ProcessMemory();
        MultiLayerNetwork network = SoakNetwork.SEQUENCES.network();
        Random random = new Random(1);
        List<Integer> lengths = lengths();
        try (MixedPrecision amp = MixedPrecision.enable(network, config(precision))) {
            for (int i = 0; i < lengths.size(); i++) {
                network.fit(SoakNetwork.SEQUENCES.batch(random, lengths.get(i)));
                if (i % (LENGTHS / SAMPLES) == 0) {
                    memory.sample("training, length " + i);
                }
            }
            assertEquals(LENGTHS, amp.stepsTaken() + amp.stepsSkipped());
        }
        memory.assertFlat();
        network.close();
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void inferenceToo(Precision precision) {
        ProcessMemory memory = new ProcessMemory();
        MultiLayerNetwork network = SoakNetwork.SEQUENCES.network();
        Random random = new Random(1);
        List<Integer> lengths = lengths();
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            assertEquals("onednn", mode.engine());
            for (int i = 0; i < lengths.size(); i++) {
                network.output(
                        SoakNetwork.SEQUENCES.batch(random, lengths.get(i)).getFeatures());
                if (i % (LENGTHS / SAMPLES) == 0) {
                    memory.sample("inference, length " + i);
                }
            }
        }
        memory.assertFlat();
        network.close();
    }
}
