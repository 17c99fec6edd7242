package org.dl4jamp.inspect.settings;

import java.util.List;
import java.util.stream.Stream;

/** Finds the settings of a process that matter for training. */
public final class Settings {
    private Settings() {}

    /** Returns what is set and matters, and what isn't set and should be: threads, oneDNN, memory, GPU. */
    public static List<Setting> of(Surroundings surroundings) {
        return Stream.of(
                        ThreadSettings.of(surroundings),
                        OneDnnSettings.of(surroundings),
                        MemorySettings.of(surroundings),
                        CudaSettings.of(surroundings))
                .flatMap(List::stream)
                .toList();
    }
}
