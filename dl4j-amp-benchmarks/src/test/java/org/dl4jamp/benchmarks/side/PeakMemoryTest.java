package org.dl4jamp.benchmarks.side;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class PeakMemoryTest {
    @Test
    void theHighWaterMarkIsReadInBytes() {
        List<String> status = List.of("VmPeak:\t  9999 kB", "VmHWM:\t  2048 kB", "VmRSS:\t  1024 kB");
        assertEquals(OptionalLong.of(2048 * 1024), PeakMemory.highWaterMark(status));
    }

    @Test
    void aSystemThatDoesntSayGivesNothing() {
        assertEquals(OptionalLong.empty(), PeakMemory.highWaterMark(List.of("Name: java")));
    }
}
