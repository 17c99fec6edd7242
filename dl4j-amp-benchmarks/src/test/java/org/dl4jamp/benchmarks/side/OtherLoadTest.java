package org.dl4jamp.benchmarks.side;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class OtherLoadTest {
    private final AtomicReference<List<String>> stat = new AtomicReference<>();
    private final AtomicLong own = new AtomicLong();

    private OtherLoad begin(String... lines) throws IOException {
        stat.set(List.of(lines));
        return new OtherLoad(stat::get, own::get);
    }

    /** Of 400 ticks 220 were idle or waiting; this process had 130 of the others. */
    @Test
    void whatIsNeitherIdleNorOwnIsOthers() throws IOException {
        OtherLoad load = begin("cpu  100 0 10 1000 5 0 1 7 50 0", "cpu0 1 2 3");
        stat.set(List.of("cpu  220 5 20 1200 25 1 3 49 90 0", "cpu0 1 2 3"));
        own.set(1_300_000_000L);
        assertEquals(50.0 / 400, load.share().orElseThrow(), 1e-12);
    }

    @Test
    void clocksThatDisagreeGiveNoNegativeShare() throws IOException {
        OtherLoad load = begin("cpu  100 0 0 100 0 0 0 0 0 0");
        stat.set(List.of("cpu  200 0 0 200 0 0 0 0 0 0"));
        own.set(1_010_000_000L);
        assertEquals(0, load.share().orElseThrow());
    }

    @Test
    void otherSystemsGiveNothing() throws IOException {
        assertEquals(OptionalDouble.empty(), begin().share());
        assertEquals(
                OptionalDouble.empty(), begin("cpu  100 0 0 100 0 0 0 0 0 0").share());
    }

    @Test
    void theMachineIsRead() throws IOException {
        OtherLoad load = OtherLoad.begin();
        long end = System.nanoTime() + 50_000_000;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
        assertEquals(Files.exists(Path.of("/proc/stat")), load.share().isPresent());
        assertTrue(load.share().orElse(0) <= 1);
    }
}
