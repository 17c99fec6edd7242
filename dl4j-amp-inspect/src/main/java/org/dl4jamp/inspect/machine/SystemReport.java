package org.dl4jamp.inspect.machine;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.dl4jamp.inspect.gpu.GpuReport;
import org.dl4jamp.inspect.settings.Setting;
import org.dl4jamp.inspect.settings.Settings;
import org.dl4jamp.inspect.settings.Surroundings;

/**
 * A machine as it is seen before ND4J is loaded.
 *
 * @param host operating system, processors, memory
 * @param java the JVM of this process
 * @param gpus NVIDIA's GPUs, and ND4J's backends for them
 * @param settings environment variables and system properties that matter
 */
public record SystemReport(Host host, JavaRuntime java, GpuReport gpus, List<Setting> settings) {
    public SystemReport {
        settings = List.copyOf(settings);
    }

    /** Looks at this process's machine. Asks NVIDIA's driver, if there is one, for ten seconds at most. */
    public static SystemReport ofThisProcess() {
        Host host = Host.ofThisMachine();
        JavaRuntime java = JavaRuntime.ofThisProcess();
        GpuReport gpus = GpuReport.ofThisMachine();
        Map<String, String> properties = System.getProperties().stringPropertyNames().stream()
                .collect(Collectors.toMap(name -> name, System::getProperty));
        Surroundings surroundings = new Surroundings(
                System.getenv(),
                properties,
                java.processors(),
                host.processors() == null ? 0 : host.processors(),
                host.memoryBytes(),
                java.heapLimitBytes(),
                !gpus.found().isEmpty());
        return new SystemReport(host, java, gpus, Settings.of(surroundings));
    }
}
