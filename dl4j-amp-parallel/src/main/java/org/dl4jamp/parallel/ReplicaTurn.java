package org.dl4jamp.parallel;

import java.util.Collection;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.AmpException;
import org.dl4jamp.ServesOneNetwork;
import org.dl4jamp.checkpoint.AmpState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a replica does in one fit beside what DL4J's trainers of either training mode do. */
final class ReplicaTurn {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicaTurn.class);
    private static final long SECONDS_TO_END_AFTER_FAILURE = 5;

    private final ReplicaTrainers trainers;
    private final Fit fit;
    private final Replica replica;
    private final AmpState first;
    private final int threads;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile Thread thread;

    /**
     * @param first the state to begin with if it's the replica's first fit
     * @param threads how many of OpenMP's threads the replica's native work takes
     */
    ReplicaTurn(ReplicaTrainers trainers, Fit fit, Replica replica, AmpState first, int threads) {
        this.trainers = trainers;
        this.fit = fit;
        this.replica = replica;
        this.first = first;
        this.threads = threads;
    }

    /**
     * Runs DL4J's trainer until it's told to stop or fails. A failure is thrown by the thread that has called {@code fit}.
     *
     * @param thrown what the trainer has noted as the cause of what it throws, or null
     * @param releaseOthers wakes replicas that wait for this one
     */
    // A fit that waits for a replica has to hear of errors as well.
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

    /** The wrapper's listeners that the replica gets, too. */
    Collection<TrainingListener> ofReplica(Collection<TrainingListener> ofWrapper) {
        return replica.index() == 0
                ? ofWrapper
                : ofWrapper.stream()
                        .filter(listener -> !(listener instanceof ServesOneNetwork))
                        .toList();
    }

    /** Before a trainer is given data: one that has failed would never take them. */
    void requireAlive() {
        fit.throwFailure();
    }

    /** Waits until a trainer has done what it was given, or any has failed. */
    void awaitIdle(AtomicInteger running) {
        while (running.get() != 0 && !fit.hasFailed()) {
            LockSupport.parkNanos(1000);
        }
        if (fit.hasFailed()) {
            trainers.failedRound();
        }
    }

    /** The end of a round, if it isn't the replica's own thread that asks. */
    void roundEnds() {
        if (Thread.currentThread() != thread) {
            trainers.roundEnds();
        }
    }

    /**
     * Waits until the state is kept and the wrappers are out: DL4J says that a trainer has stopped before that. After a failure a replica may wait for the
     * one that has failed in a way that can't be ended, with an accumulator of the user's own.
     */
    void awaitEnd() {
        try {
            if (!fit.hasFailed()) {
                ended.await();
            } else if (!ended.await(SECONDS_TO_END_AFTER_FAILURE, TimeUnit.SECONDS)) {
                LOG.warn(
                        "Replica {} hasn't ended {} seconds after another one failed: it's left behind, with its memory",
                        replica.index(),
                        SECONDS_TO_END_AFTER_FAILURE);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AmpException("interrupted while replica " + replica.index() + " was ending", e);
        }
    }
}
