package org.dl4jamp.benchmarks.side;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.function.LongSupplier;

/** The share of a processor that HotSpot's compiler uses. */
final class CompilerShare {
    /**
     * A share that leaves a training step alone. The threads of a native library wait for the one that shares its
     * processor. So a step takes up to that share longer: ResNet-50 in FP32 216 ms after 15 to 45 seconds, with up to 5
     * %, and 198 after a minute.
     */
    static final double LOW = 0.02;

    private final LongSupplier nanoTime;
    private final LongSupplier compilationMillis;
    private long lastNanos;
    private long lastMillis;

    /**
     * @param nanoTime a clock
     * @param compilationMillis the time of compilation so far, such as {@link #millisOfThisProcess}
     */
    CompilerShare(LongSupplier nanoTime, LongSupplier compilationMillis) {
        this.nanoTime = nanoTime;
        this.compilationMillis = compilationMillis;
        lastNanos = nanoTime.getAsLong();
        lastMillis = compilationMillis.getAsLong();
    }

    /** Returns compilation time per time since the last call. */
    double sinceLast() {
        long nanos = nanoTime.getAsLong();
        long millis = compilationMillis.getAsLong();
        double share = (millis - lastMillis) * 1e6 / (nanos - lastNanos);
        lastNanos = nanos;
        lastMillis = millis;
        return share;
    }

    /** Returns how long HotSpot has compiled in this process; 0 in a JVM that doesn't measure it. */
    static long millisOfThisProcess() {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        boolean tells = compiler != null && compiler.isCompilationTimeMonitoringSupported();
        return tells ? compiler.getTotalCompilationTime() : 0;
    }
}
