package org.dl4jamp.spark;

import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskKilledException;

/**
 * A task's turn to train in this executor, which has one network. Left to themselves, DL4J has one of the tasks that run at the same time train with the data of all, while the others wait for it: for ever,
 * if a task adds its data at the moment at which that one has come to the end of its own.
 *
 * <p>A task that Spark has given up is interrupted if it doesn't end: it may wait for ever for data that DL4J's reading thread, which Spark's exception has ended, won't bring.
 */
final class Turn implements AutoCloseable {
    private static final Semaphore FREE = new Semaphore(1, true);
    private static final long LOOK_MILLISECONDS = 100;

    /** For a task that has been given up to end as Spark ends it, at its next batch. */
    private static final long GRACE_NANOSECONDS = TimeUnit.SECONDS.toNanos(2);

    private static final ScheduledExecutorService WATCH = Executors.newSingleThreadScheduledExecutor(run -> {
        Thread thread = new Thread(run, "dl4j-amp turns");
        thread.setDaemon(true);
        return thread;
    });

    private final Thread thread = Thread.currentThread();
    private final BooleanSupplier givenUp;
    private final Future<?> looks;
    private boolean over;
    private long patienceEnds;

    private Turn(BooleanSupplier givenUp) {
        this.givenUp = givenUp;
        this.looks = WATCH.scheduleWithFixedDelay(
                this::endIfGivenUp, LOOK_MILLISECONDS, LOOK_MILLISECONDS, TimeUnit.MILLISECONDS);
    }

    /**
     * Waits for the turn of the calling thread's task.
     *
     * @param givenUp whether Spark has given up the task; any thread may ask
     * @throws TaskKilledException if Spark gives up the task meanwhile
     */
    static Turn await(BooleanSupplier givenUp) {
        try {
            while (!FREE.tryAcquire(LOOK_MILLISECONDS, TimeUnit.MILLISECONDS)) {
                if (givenUp.getAsBoolean()) {
                    throw new TaskKilledException("given up before its turn in the executor came");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TaskKilledException("interrupted before its turn in the executor came");
        }
        return new Turn(givenUp);
    }

    private synchronized void endIfGivenUp() {
        if (over || !givenUp.getAsBoolean()) {
            return;
        }
        long time = System.nanoTime();
        if (patienceEnds == 0) {
            patienceEnds = time + GRACE_NANOSECONDS;
        } else if (time - patienceEnds > 0) {
            thread.interrupt();
            patienceEnds = time + GRACE_NANOSECONDS;
        }
    }

    /** Has the next one begin. */
    @Override
    public synchronized void close() {
        if (!over) {
            over = true;
            looks.cancel(false);
            FREE.release();
        }
    }
}
