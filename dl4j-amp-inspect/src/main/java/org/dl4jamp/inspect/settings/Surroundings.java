package org.dl4jamp.inspect.settings;

import java.util.Map;
import java.util.Optional;

/**
 * A process's settings, and the facts about the machine that they are judged by.
 *
 * @param environment environment variables
 * @param properties system properties
 * @param processors the processors that the JVM may use
 * @param machineProcessors the processors of the machine; 0 if unknown
 * @param memoryBytes memory of the machine, or of the container
 * @param heapLimitBytes the most that the JVM's heap may take
 * @param hasGpu whether there is an NVIDIA GPU
 */
public record Surroundings(
        Map<String, String> environment,
        Map<String, String> properties,
        int processors,
        int machineProcessors,
        long memoryBytes,
        long heapLimitBytes,
        boolean hasGpu) {
    public Surroundings {
        environment = Map.copyOf(environment);
        properties = Map.copyOf(properties);
    }

    /** Returns the value of an environment variable that is set and not empty. */
    Optional<String> variable(String name) {
        return Optional.ofNullable(environment.get(name)).map(String::strip).filter(value -> !value.isEmpty());
    }

    /** Returns the value of a system property that is set and not empty. */
    Optional<String> property(String name) {
        return Optional.ofNullable(properties.get(name)).map(String::strip).filter(value -> !value.isEmpty());
    }

    boolean isLinux() {
        return property("os.name").orElse("").equals("Linux");
    }
}
