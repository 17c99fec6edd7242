package org.dl4jamp.benchmarks.side;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.function.LongSupplier;

/** How much of a processor HotSpot's compiler takes. */
final class CompilerShare {
    /**
     * A share that leaves a training step alone. The threads of a native library wait for the one that has to share its
     * processor, so that a step takes up to that share longer: ResNet-50 in FP32 216 ms after 15 to 45 seconds, with up
     * to 5 %, and 198 after a minute.
     */
    static final double LOW = 0.02;

    private final LongSupplier nanoTime;
    private final LongSupplier compilationMillis;
    private long lastNanos;
    private long lastMillis;

    /**
     * @param nanoTime a clock
     * @param compilationMillis how long has been compiled, as {@link #millisOfThisProcess} tells
     */
    CompilerShare(LongSupplier nanoTime, LongSupplier compilationMillis) {
        this.nanoTime = nanoTime;
        this.compilationMillis = compilationMillis;
        lastNanos = nanoTime.getAsLong();
        lastMillis = compilationMillis.getAsLong();
    }

    /** Compilation time per time since this was asked last. */
    double sinceLast() {
        long nanos = nanoTime.getAsLong();
        long millis = compilationMillis.getAsLong();
        double share = (millis - lastMillis) * 1e6 / (nanos - lastNanos);
        lastNanos = nanos;
        lastMillis = millis;
        return share;
    }

    /** Returns how long HotSpot has compiled in this process; 0 in a JVM that doesn't tell. */
    static long millisOfThisProcess() {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        boolean tells = compiler != null && compiler.isCompilationTimeMonitoringSupported();
        return tells ? compiler.getTotalCompilationTime() : 0;
    }
}
