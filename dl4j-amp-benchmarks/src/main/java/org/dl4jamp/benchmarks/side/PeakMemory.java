package org.dl4jamp.benchmarks.side;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/** The most physical memory that a process has had. */
final class PeakMemory {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String HIGH_WATER_MARK = "VmHWM:";

    private PeakMemory() {}

    /** Returns the most memory of this process in bytes; empty on operating systems other than Linux. */
    static OptionalLong ofThisProcess() throws IOException {
        return Files.exists(STATUS) ? highWaterMark(Files.readAllLines(STATUS)) : OptionalLong.empty();
    }

    /** Reads it from the lines of a status file, such as {@code VmHWM: 1234 kB}. */
    static OptionalLong highWaterMark(List<String> status) {
        return status.stream()
                .filter(line -> line.startsWith(HIGH_WATER_MARK))
                .mapToLong(line -> 1024
                        * Long.parseLong(line.substring(HIGH_WATER_MARK.length())
                                .replace("kB", "")
                                .trim()))
                .findFirst();
    }
}
