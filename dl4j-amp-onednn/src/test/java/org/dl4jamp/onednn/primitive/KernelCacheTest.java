package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class KernelCacheTest {
    private final int before = Work.threads();
    private final List<String> made = new ArrayList<>();
    private final List<String> closed = new ArrayList<>();

    private record Made(String name, List<String> closed) implements AutoCloseable {
        @Override
        public void close() {
            closed.add(name);
        }
    }

    @AfterEach
    void takeAsManyThreadsAsBefore() {
        Work.setThreads(before);
    }

    private String get(KernelCache<String, Made> cache, String key) {
        return cache.get(key, () -> {
                    made.add(key + " for " + Work.threads());
                    return new Made(made.get(made.size() - 1), closed);
                })
                .name();
    }

    @Test
    void whatIsPlannedForSoManyThreadsIsRunByThoseThatHaveAsMany() {
        try (KernelCache<String, Made> cache = new KernelCache<>(4)) {
            Work.setThreads(3);
            assertEquals("a for 3", get(cache, "a"));
            Work.setThreads(1);
            assertEquals("a for 1", get(cache, "a"));
            Work.setThreads(3);
            assertEquals("a for 3", get(cache, "a"));
            assertEquals(List.of("a for 3", "a for 1"), made);
        }
        assertEquals(List.of("a for 1", "a for 3"), closed.stream().sorted().toList());
    }

    @Test
    void theOneThatWasUsedLongestAgoIsClosed() {
        Work.setThreads(2);
        try (KernelCache<String, Made> cache = new KernelCache<>(2)) {
            get(cache, "a");
            get(cache, "b");
            get(cache, "a");
            get(cache, "c");
            assertEquals(List.of("b for 2"), closed);
            assertEquals("a for 2", get(cache, "a"));
            assertEquals(3, made.size());
        }
    }
}
