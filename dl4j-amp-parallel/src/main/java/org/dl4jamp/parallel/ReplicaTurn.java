package org.dl4jamp.parallel;

import java.util.Collection;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.ServesOneNetwork;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.precision.AmpException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs a replica's part of one fit beside DL4J's trainers of either training mode. */
final class ReplicaTurn {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicaTurn.class);
    private static final long SECONDS_BETWEEN_LOOKS = 5;

    private final ReplicaTrainers trainers;
    private final Fit fit;
    private final Replica replica;
    private final AmpState first;
    private final int threads;
    private final Predicate<Thread> inExchange;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile Thread thread;

    /**
     * @param first the state to begin with if it's the replica's first fit
     * @param threads number of OpenMP's threads for the replica's native work
     * @param inExchange tests whether a thread is where replicas wait for one another
     */
    ReplicaTurn(
            ReplicaTrainers trainers,
            Fit fit,
            Replica replica,
            AmpState first,
            int threads,
            Predicate<Thread> inExchange) {
        this.trainers = trainers;
        this.fit = fit;
        this.replica = replica;
        this.first = first;
        this.threads = threads;
        this.inExchange = inExchange;
    }

    /**
     * Runs DL4J's trainer until it's stopped or fails. A failure is thrown by the thread that has called {@code fit}.
     *
     * @param thrown the cause that the trainer has kept of its exception, or null
     * @param releaseOthers wakes replicas that wait for this one
     */
    // A fit that waits for a replica has to be notified of errors as well.
    @SuppressWarnings("CatchingThrowable")
    void run(Runnable trainer, Supplier<Exception> thrown, Runnable releaseOthers) {
        thread = Thread.currentThread();
        try {
            OpenMp.setThreads(threads);
            trainer.run();
        } catch (Throwable e) {
            Exception cause = thrown.get();
            fit.fail(cause == null ? e : cause);
            releaseOthers.run();
        } finally {
            end();
        }
    }

    private void end() {
        try {
            replica.fitEnds();
        } finally {
            ended.countDown();
        }
    }

    /** Begins, with a network that is the source or has got its parameters and updater state. */
    void begin(Model network) {
        try {
            fit.awaitCopies();
            replica.begin(network, first);
            fit.awaitReady();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AmpException("replica " + replica.index() + " was interrupted before its first step", e);
        }
    }

    /** Returns the wrapper's listeners that the replica gets, too. */
    Collection<TrainingListener> ofReplica(Collection<TrainingListener> ofWrapper) {
        return replica.index() == 0
                ? ofWrapper
                : ofWrapper.stream()
                        .filter(listener -> !(listener instanceof ServesOneNetwork))
                        .toList();
    }

    /**
     * Gives a trainer its data of a round, in the thread of {@code fit}. DL4J drops the data without a word where that
     * thread was interrupted, and with shared gradients the other replicas of the round wait for this one for ever. So
     * an interrupt ends the fit between two rounds.
     *
     * @param queue the trainer's, which is empty between two rounds
     * @param running number of minibatches that the trainer hasn't done yet
     * @throws RuntimeException what a replica has thrown, or that the thread was interrupted; the wrapper is closed
     *     then, as after a fit
     */
    <T> void feed(BlockingQueue<T> queue, T data, AtomicInteger running) {
        trainers.requireAlive();
        if (replica.index() == 0) {
            trainers.roundBegins();
        }
        running.incrementAndGet();
        queue.add(data);
    }

    /** Waits until a trainer has done what it was given, or any has failed. */
    void awaitIdle(AtomicInteger running) {
        boolean interrupted = false;
        while (running.get() != 0 && !fit.hasFailed()) {
            // A thread that is interrupted doesn't park.
            interrupted |= Thread.interrupted();
            LockSupport.parkNanos(1000);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (fit.hasFailed()) {
            trainers.endWithThisRound();
        } else if (Thread.currentThread().isInterrupted()) {
            trainers.interrupted();
        }
    }

    /** Ends a round, unless the replica's own thread calls it. */
    void roundEnds() {
        if (Thread.currentThread() != thread) {
            trainers.roundEnds();
        }
    }

    /**
     * Waits until the state is kept and the wrappers are removed: DL4J reports a trainer as stopped before that. An
     * interrupt waits, too: the replica ends after its current step.
     *
     * <p>After a failure a replica may wait for the one that has failed in a way that can't be ended, in an accumulator
     * of the user's own. It's left behind if it's found there twice; one that computes is waited for.
     */
    void awaitEnd() {
        boolean interrupted = false;
        boolean wasInExchange = false;
        boolean waiting = true;
        while (waiting) {
            try {
                waiting = !ended.await(SECONDS_BETWEEN_LOOKS, TimeUnit.SECONDS);
                if (waiting && fit.hasFailed()) {
                    boolean isInExchange = inExchange.test(thread);
                    if (isInExchange && wasInExchange) {
                        leaveBehind();
                        waiting = false;
                    }
                    wasInExchange = isInExchange;
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void leaveBehind() {
        LOG.warn(
                "Replica {} still waits for one that has failed, in an accumulator that doesn't end the wait: it's"
                        + " left behind, with its memory",
                replica.index());
        if (replica.index() == 0) {
            fit.addToFailure(new AmpException(
                    "Replica 0, which is the wrapper's network itself, still waits for the replica that has"
                            + " failed, in the gradients accumulator that"
                            + " the wrapper was built with: neither train nor close this network any more; go"
                            + " on with a saved or cloned one"));
        }
    }
}
