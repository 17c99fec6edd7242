package org.dl4jamp.inspect.speed;

import java.util.Arrays;
import java.util.stream.IntStream;

/** The speed of memory: all processors copy a large array. */
final class MemoryBandwidth {
    /** Far more than caches hold. */
    private static final long BYTES = 128L << 20;

    private static final int COPIES = 5;
    private static final double GIGA = 1e9;

    private MemoryBandwidth() {}

    /** Returns gigabytes per second, read and written, in the median of some copies. */
    static double measure() {
        return measure(Math.min(BYTES, Runtime.getRuntime().maxMemory() / 8));
    }

    /** Returns the same for an array of as many bytes. */
    static double measure(long bytes) {
        int parts = Runtime.getRuntime().availableProcessors();
        int partLength = Math.toIntExact(bytes / Float.BYTES / parts);
        float[][] from = new float[parts][partLength];
        float[][] to = new float[parts][partLength];
        double[] seconds = new double[COPIES];
        for (int copy = -1; copy < COPIES; copy++) {
            long start = System.nanoTime();
            IntStream.range(0, parts).parallel().forEach(i -> System.arraycopy(from[i], 0, to[i], 0, partLength));
            // The first one is a warm-up.
            if (copy >= 0) {
                seconds[copy] = (System.nanoTime() - start) / GIGA;
            }
        }
        Arrays.sort(seconds);
        return 2.0 * parts * partLength * Float.BYTES / GIGA / seconds[COPIES / 2];
    }
}
