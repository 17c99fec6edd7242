package org.dl4jamp.benchmarks.side;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;

/** How much of a processor HotSpot's compiler takes. */
final class CompilerShare {
    /** A share that leaves a training step alone. */
    static final double LOW = 0.05;

    private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
    private long lastNanos = System.nanoTime();
    private long lastMillis = compilationMillis();

    /** Compilation time per time since this was asked last; 0 in a JVM that doesn't tell. */
    double sinceLast() {
        long nanos = System.nanoTime();
        long millis = compilationMillis();
        double share = (millis - lastMillis) * 1e6 / (nanos - lastNanos);
        lastNanos = nanos;
        lastMillis = millis;
        return share;
    }

    private long compilationMillis() {
        boolean tells = compiler != null && compiler.isCompilationTimeMonitoringSupported();
        return tells ? compiler.getTotalCompilationTime() : 0;
    }
}
