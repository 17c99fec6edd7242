package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.KFoldIterator;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Programs that build a network for each fold, train and evaluate it, and drop it, one half of them without closing.
 * Linux reports the memory of a process.
 */
@EnabledOnOs(OS.LINUX)
@Tag("long")
class CrossValidationTest {
    private static final int FOLDS = 10;
    private static final int ROUNDS = 20;

    /**
     * 0.6 MB of parameters, and as much for each of the gradients and Adam's two moments: a network that stays is seen.
     */
    private static Model network(Kind kind) {
        if (kind == Kind.MULTI_LAYER) {
            return Networks.init(Networks.builder(new Adam(1e-3))
                    .list()
                    .layer(Networks.dense(256, Activation.RELU))
                    .layer(Networks.dense(256, Activation.TANH))
                    .layer(Networks.dense(256, Activation.TANH))
                    .layer(Networks.softmax(3))
                    .setInputType(InputType.feedForward(20))
                    .build());
        }
        return Networks.init(Networks.branches(
                new Adam(1e-3),
                Networks.dense(256, Activation.RELU),
                Networks.dense(256, Activation.TANH),
                Networks.dense(256, Activation.TANH)));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void twoHundredNetworksTakeNoMoreNativeMemoryThanForty(Kind kind, Side side)
            throws IOException, InterruptedException {
        for (int round = 0; round < 4; round++) {
            crossValidate(kind, side);
        }
        long before = settledBytes();
        for (int round = 0; round < ROUNDS; round++) {
            crossValidate(kind, side);
        }
        long grown = settledBytes() - before;
        // A network with its gradients and moments is 2.2 MB: 100 that stay, closed ones or the others, would be 220.
        assertTrue(grown < 70L << 20, () -> "native memory has grown by " + (grown >> 20) + " MiB");
    }

    private static void crossValidate(Kind kind, Side side) {
        DataSet data = Networks.vectors(FOLDS * 6, 20, 3);
        KFoldIterator folds = new KFoldIterator(FOLDS, data);
        int fold = 0;
        while (folds.hasNext()) {
            DataSet training = folds.next();
            Model network = network(kind);
            MixedPrecision amp = side.enable(network);
            Kind.fit(network, training);
            INDArray output = Kind.output(network, folds.testFold().getFeatures());
            assertTrue(output.sumNumber().doubleValue() > 0);
            if (fold++ % 2 == 0) {
                amp.close();
            }
        }
        // Arrays are freed when they're collected; before that a program takes as much as it's allowed to.
        System.gc();
    }

    /** Returns the memory of the process when everything unreachable has been freed, arrays by ND4J's own threads. */
    private static long settledBytes() throws IOException, InterruptedException {
        long bytes = Long.MAX_VALUE;
        for (int i = 0; i < 20; i++) {
            System.gc();
            Thread.sleep(100);
            bytes = Math.min(bytes, residentBytes());
        }
        return bytes;
    }

    private static long residentBytes() throws IOException {
        String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(each -> each.startsWith("VmRSS:"))
                .findFirst()
                .orElseThrow();
        return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
    }
}
