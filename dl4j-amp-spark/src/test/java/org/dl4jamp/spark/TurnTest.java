package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.TaskKilledException;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TurnTest {
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    @Test
    void nextTaskBeginsWhenTheOneBeforeHasEnded() throws Exception {
        Turn first = Turn.await(() -> false);
        Future<Boolean> second = threads.submit(() -> {
            try (Turn turn = Turn.await(() -> false)) {
                return turn != first;
            }
        });
        Thread.sleep(300);
        assertFalse(second.isDone());
        first.close();
        first.close();
        assertTrue(second.get());
        Turn.await(() -> false).close();
    }

    @Test
    void taskThatIsGivenUpWhileItWaitsTakesNoTurn() throws Exception {
        AtomicBoolean givenUp = new AtomicBoolean();
        try (Turn first = Turn.await(() -> false)) {
            Future<Turn> second = threads.submit(() -> Turn.await(givenUp::get));
            givenUp.set(true);
            ExecutionException error = assertThrows(ExecutionException.class, second::get);
            assertEquals(TaskKilledException.class, error.getCause().getClass());
        }
        Turn.await(() -> false).close();
    }

    @Test
    void taskThatIsGivenUpAndDoesNotEndIsInterrupted() throws Exception {
        AtomicBoolean givenUp = new AtomicBoolean();
        CountDownLatch has = new CountDownLatch(1);
        Future<Boolean> stuck = threads.submit(() -> {
            try (Turn turn = Turn.await(givenUp::get)) {
                has.countDown();
                new CountDownLatch(1).await();
                return false;
            } catch (InterruptedException e) {
                return true;
            }
        });
        has.await();
        Thread.sleep(300);
        assertFalse(stuck.isDone());
        givenUp.set(true);
        assertTrue(stuck.get());
        Turn.await(() -> false).close();
    }

    @Test
    void tasksThatWaitFailIfOneThatIsGivenUpDoesNotEnd() throws Exception {
        AtomicBoolean givenUp = new AtomicBoolean();
        AtomicBoolean mayEnd = new AtomicBoolean();
        CountDownLatch has = new CountDownLatch(1);
        Future<?> deaf = threads.submit(() -> {
            try (Turn turn = Turn.await(givenUp::get)) {
                has.countDown();
                while (!mayEnd.get()) {
                    Thread.onSpinWait();
                }
            }
        });
        has.await();
        long patience = TimeUnit.SECONDS.toNanos(1);
        Future<Turn> waits = threads.submit(() -> Turn.await(() -> false, patience));
        Thread.sleep(1500);
        assertFalse(waits.isDone());
        givenUp.set(true);
        AmpException error = (AmpException)
                assertThrows(ExecutionException.class, waits::get).getCause();
        assertTrue(error.getMessage().contains("which Spark has given up, doesn't end"), error.getMessage());
        assertTrue(error.getMessage().contains("TurnTest"), error.getMessage());
        mayEnd.set(true);
        deaf.get();
        Turn.await(() -> false).close();
    }
}
