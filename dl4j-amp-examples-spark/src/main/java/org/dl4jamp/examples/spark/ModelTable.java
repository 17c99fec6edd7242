package org.dl4jamp.examples.spark;

import java.io.PrintWriter;
import java.util.Locale;

/** The table of {@code amp spark --model}: a workload on clusters of 1 to 1,024 executors. */
final class ModelTable {
    /**
     * The time of an empty split on two cores, measured by {@code amp spark}. Clusters of many executors take longer.
     */
    static final double OVERHEAD_SECONDS = 0.5;

    private static final double BITS = 8;
    private static final double GIGA = 1e9;
    private static final int[] GIGABITS = {1, 10, 100};

    private ModelTable() {}

    static void print(PrintWriter out, Workload workload, int frequency) {
        ClusterModel model = new ClusterModel(frequency, workload.stateBytes(), OVERHEAD_SECONDS);
        out.printf(
                Locale.ROOT,
                "%s: %.0f MB of parameters and updater state, averaged every %d steps; a step takes %.0f ms in DL4J,"
                        + " %.0f in FP32 and %.0f in BFLOAT16 on oneDNN%n%n",
                workload.name().toLowerCase(Locale.ROOT),
                workload.stateBytes() / 1e6,
                frequency,
                1e3 * workload.dl4jSeconds(),
                1e3 * workload.floatSeconds(),
                1e3 * workload.halfSeconds());
        out.println("Steps per second of all executors, BFLOAT16; × is how much faster than FP32 on oneDNN; % is the"
                + " network's part of the time");
        out.printf("%9s", "executors");
        for (int gigabits : GIGABITS) {
            out.printf("  %28s", gigabits + " Gbit/s");
        }
        out.println();
        for (int executors = 1; executors <= 1024; executors *= 4) {
            out.printf("%9d", executors);
            for (int gigabits : GIGABITS) {
                double link = gigabits * GIGA / BITS;
                double half = model.splitSeconds(executors, workload.halfSeconds(), link);
                double full = model.splitSeconds(executors, workload.floatSeconds(), link);
                double unlinked = model.splitSeconds(executors, workload.halfSeconds(), Double.POSITIVE_INFINITY);
                out.printf(
                        Locale.ROOT,
                        "  %12.1f  %5.2f×  %5.1f %%",
                        model.stepsPerSecond(executors, workload.halfSeconds(), link),
                        full / half,
                        100 * (1 - unlinked / half));
            }
            out.println();
        }
        out.flush();
    }
}
