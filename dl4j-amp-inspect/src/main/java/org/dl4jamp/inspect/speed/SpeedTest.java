package org.dl4jamp.inspect.speed;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Measures training in this process: stock DL4J, FP32 on an engine that computes it, and each half precision.
 *
 * <pre>{@code
 * SpeedReport speed = SpeedTest.run(System.err::println);
 * }</pre>
 */
public final class SpeedTest {
    /** The most seconds that a measurement takes, but for the last step. */
    public static final int SECONDS = 15;

    private SpeedTest() {}

    /**
     * Measures for at most {@link #SECONDS}. ND4J has to be loaded, or loadable. Uses all processors; other work in
     * this process would be measured, too.
     *
     * @param progress gets a line for each kind of network before it's measured
     */
    public static SpeedReport run(Consumer<String> progress) {
        return run(Workloads.all(), SECONDS, progress);
    }

    static SpeedReport run(List<Workload> workloads, double seconds, Consumer<String> progress) {
        // Loads ND4J, if it isn't loaded.
        List<Side> sides = Side.here();
        Stopwatch stopwatch = new Stopwatch(System::nanoTime, TrainedNetwork::new, OtherThreads::rest);
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        // Each call reports on the time since the last one.
        double unused = system.getCpuLoad() + system.getProcessCpuLoad();
        long begin = System.nanoTime();
        double bandwidth = MemoryBandwidth.measure();
        List<WorkloadSpeed> networks = new ArrayList<>();
        double weights = workloads.stream().mapToDouble(Workload::weight).sum();
        for (Workload workload : workloads) {
            progress.accept("measuring " + workload.kind());
            double left = seconds - (System.nanoTime() - begin) / 1e9;
            networks.add(stopwatch.measure(workload, sides, left * workload.weight() / weights));
            weights -= workload.weight();
        }
        double all = system.getCpuLoad();
        double own = system.getProcessCpuLoad();
        Double others = all >= 0 && own >= 0 && unused >= 0 ? Double.valueOf(Math.max(0, all - own)) : null;
        return new SpeedReport((System.nanoTime() - begin) / 1e9, others, bandwidth, networks);
    }
}
