package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class PartsTest {
    private final OneDnnContext context = new OneDnnContext(true);

    @AfterEach
    void close() {
        context.close();
    }

    @Test
    void partsRunAtTheSameTimeAndTheFirstInTheCallingThread() {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        CountDownLatch all = new CountDownLatch(3);
        Runnable part = () -> {
            threads.add(Thread.currentThread());
            all.countDown();
            awaitUnchecked(all);
        };

        context.parts().run(List.of(part, part, part));

        assertEquals(3, threads.size());
        assertTrue(threads.remove(Thread.currentThread()));
        for (Thread thread : threads) {
            assertTrue(thread.isDaemon());
            assertTrue(thread.getName().startsWith("dl4j-amp-onednn-part-"), thread.getName());
        }
    }

    private static void awaitUnchecked(CountDownLatch latch) {
        try {
            assertTrue(latch.await(30, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aFailureOfAnotherThreadIsThrownAfterAllPartsHaveEnded() {
        IllegalStateException failure = new IllegalStateException("the second part");
        AtomicBoolean ended = new AtomicBoolean();
        CountDownLatch failed = new CountDownLatch(1);
        List<Runnable> parts = List.of(
                () -> {},
                () -> {
                    failed.countDown();
                    throw failure;
                },
                () -> {
                    awaitUnchecked(failed);
                    ended.set(true);
                });

        AmpException thrown =
                assertThrows(AmpException.class, () -> context.parts().run(parts));

        assertSame(failure, thrown.getCause());
        assertTrue(ended.get());
    }

    @Test
    void aFailureOfTheCallingThreadIsThrownAfterAllPartsHaveEnded() {
        IllegalStateException failure = new IllegalStateException("the first part");
        AtomicBoolean ended = new AtomicBoolean();
        CountDownLatch failing = new CountDownLatch(1);
        List<Runnable> parts = List.of(
                () -> {
                    failing.countDown();
                    throw failure;
                },
                () -> {
                    awaitUnchecked(failing);
                    ended.set(true);
                });

        assertSame(failure, assertThrows(IllegalStateException.class, () -> context.parts()
                .run(parts)));
        assertTrue(ended.get());
    }

    @Test
    void anInterruptedCallerWaitsAndStaysInterrupted() {
        CountDownLatch waiting = new CountDownLatch(1);
        AtomicBoolean ended = new AtomicBoolean();

        context.parts()
                .run(List.of(
                        () -> {
                            Thread.currentThread().interrupt();
                            waiting.countDown();
                        },
                        () -> {
                            awaitUnchecked(waiting);
                            ended.set(true);
                        }));

        assertTrue(Thread.interrupted());
        assertTrue(ended.get());
    }

    /** Waits in turns of some ten nanoseconds: libgomp's default is 300,000. */
    @ParameterizedTest
    @CsvSource({
        ", , false",
        "PASSIVE, , true",
        "passive, 10000, true",
        "ACTIVE, , false",
        "PASSIVE, 300000, false",
        "PASSIVE, INFINITY, false",
        ", 0, true"
    })
    void processorsAreFreeIfThreadsOfOpenMpSoonSleep(String policy, String turns, boolean free) {
        Map<String, String> environment = new HashMap<>();
        if (policy != null) {
            environment.put("OMP_WAIT_POLICY", policy);
        }
        if (turns != null) {
            environment.put("GOMP_SPINCOUNT", turns);
        }

        assertEquals(free, Parts.areProcessorsFree(environment));
    }
}
