package org.dl4jamp.spark;

import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.spark.TaskKilledException;
import org.dl4jamp.precision.AmpException;

/**
 * A task's turn to train in this executor, which has one network. DL4J alone trains in one of the tasks that run at the
 * same time, with the data of all, while the others wait for it. They wait for ever if a task adds its data just when
 * the training one has come to the end of its own.
 *
 * <p>A task that Spark has given up is interrupted if it doesn't end. It may wait for ever for data of DL4J's reading
 * thread, which Spark's exception has ended.
 */
final class Turn implements AutoCloseable {
    private static final Semaphore FREE = new Semaphore(1, true);
    private static final long LOOK_MILLISECONDS = 100;

    /** For a task that has been given up to end as Spark ends it, at its next batch. */
    private static final long GRACE_NANOSECONDS = TimeUnit.SECONDS.toNanos(2);

    /** Until the tasks that wait fail, if one that has been given up doesn't end whatever interrupts it. */
    private static final long PATIENCE_NANOSECONDS = TimeUnit.SECONDS.toNanos(60);

    /** The current turn, or the last one. */
    private static volatile Turn current;

    private static final ScheduledExecutorService WATCH = Executors.newSingleThreadScheduledExecutor(run -> {
        Thread thread = new Thread(run, "dl4j-amp turns");
        thread.setDaemon(true);
        return thread;
    });

    private final Thread thread = Thread.currentThread();
    private final BooleanSupplier givenUp;
    private final Future<?> looks;
    private boolean over;
    private long givenUpSince;
    private long graceEnds;

    private Turn(BooleanSupplier givenUp) {
        this.givenUp = givenUp;
        this.looks = WATCH.scheduleWithFixedDelay(
                this::endIfGivenUp, LOOK_MILLISECONDS, LOOK_MILLISECONDS, TimeUnit.MILLISECONDS);
    }

    /**
     * Waits for the turn of the calling thread's task.
     *
     * @param givenUp whether Spark has given up the task; any thread may call it
     * @throws TaskKilledException if Spark gives up the task meanwhile
     * @throws AmpException if the task of the current turn was given up a minute ago and hasn't ended
     */
    static Turn await(BooleanSupplier givenUp) {
        return await(givenUp, PATIENCE_NANOSECONDS);
    }

    static Turn await(BooleanSupplier givenUp, long patienceNanoseconds) {
        try {
            while (!FREE.tryAcquire(LOOK_MILLISECONDS, TimeUnit.MILLISECONDS)) {
                if (givenUp.getAsBoolean()) {
                    throw new TaskKilledException("given up before its turn in the executor came");
                }
                Turn now = current;
                if (now != null) {
                    now.requireItEnds(patienceNanoseconds);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TaskKilledException("interrupted before its turn in the executor came");
        }
        Turn turn = new Turn(givenUp);
        current = turn;
        return turn;
    }

    private synchronized void endIfGivenUp() {
        if (over || !givenUp.getAsBoolean()) {
            return;
        }
        long time = System.nanoTime();
        if (givenUpSince == 0) {
            givenUpSince = time;
            graceEnds = time + GRACE_NANOSECONDS;
        } else if (time - graceEnds > 0) {
            thread.interrupt();
            graceEnds = time + GRACE_NANOSECONDS;
        }
    }

    private synchronized void requireItEnds(long patienceNanoseconds) {
        if (!over && givenUpSince != 0 && System.nanoTime() - givenUpSince > patienceNanoseconds) {
            String where = Arrays.stream(thread.getStackTrace())
                    .limit(5)
                    .map(StackTraceElement::toString)
                    .collect(Collectors.joining(", "));
            throw new AmpException("An earlier task of this executor, which Spark has given up, doesn't end: "
                    + thread.getName() + " is in " + where
                    + ". An executor has one network, with which no other task can train now; end the executor, or the"
                    + " application");
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
