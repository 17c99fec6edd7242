package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Scanner;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.config.AmpConfig;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.dataset.DataSet;

/**
 * A wrapper that is fitted again and again: no fit waits for ever, and none leaves native memory behind. Runs with the
 * profile {@code parallel}.
 */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 1200, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@EnabledOnOs(value = OS.LINUX, disabledReason = "it asks /proc for the memory of the process")
class ManyFits {
    /** In which the JVM compiles what is called often, and native heaps find their size. */
    private static final int FITS_BEFORE = 100;

    private static final int FITS = FITS_BEFORE + 100;
    private static final long MIB = 1L << 20;
    private static final long PAGE = 4096;

    /**
     * What the process may take more of in the last 100 fits; a replica that isn't freed leaves a MiB or more each
     * time.
     */
    private static final long ALLOWED = 24 * MIB;

    private final List<DataSet> batches = Replicas.batches(12, 32, 1);

    @ParameterizedTest
    @CsvSource({
        "AVERAGING, half, false",
        "AVERAGING, onednn, true",
        "SHARED_GRADIENTS, half, true",
        "SHARED_GRADIENTS, onednn, false"
    })
    void neitherWaitNorLeaveMemoryBehind(TrainingMode mode, String settings, boolean graph) throws Exception {
        AmpConfig config = settings.equals("half") ? Replicas.half() : Replicas.oneDnn();
        Model net = Replicas.initialized(graph);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 3, mode);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            long before = 0;
            for (int fit = 1; fit <= FITS; fit++) {
                wrapper.fit(Replicas.iterator(batches));
                if (fit == FITS_BEFORE) {
                    before = held();
                }
            }
            long after = held();
            for (ReplicaState state : amp.states()) {
                assertEquals(4L * FITS, state.stepsTaken() + state.stepsSkipped(), state::toString);
            }
            System.out.printf(
                    "%s %s: %d MiB after %d fits, %d MiB after %d%n",
                    mode, settings, before / MIB, FITS_BEFORE, after / MIB, FITS);
            assertTrue(after - before < ALLOWED, (after - before) / MIB + " MiB more");
        }
    }

    /**
     * Returns what the process holds after a collection. The profile has Java's heap of one size, and in memory, from
     * the start.
     */
    private static long held() throws IOException, InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(200);
        }
        Path statm = Path.of("/proc/self/statm");
        try (Scanner pages = new Scanner(statm, StandardCharsets.US_ASCII)) {
            pages.nextLong();
            return pages.nextLong() * PAGE;
        }
    }
}
