package org.dl4jamp.parallel;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The barriers of the replicas in one call of {@code ParallelWrapper.fit}, and the first failure of any of them.
 *
 * <p>Training begins when all replicas have copied the source network. For its updater they need the source's monitor
 * if the source has none yet. The source's trainer holds that monitor, in {@code SHARED_GRADIENTS} until all have given
 * their update: DL4J alone waits for ever in the second fit.
 *
 * <p>Training begins when all are in mixed precision, too, so that a replica that can't be is found before the first
 * round ends.
 */
final class Fit {
    private final CountDownLatch replicated;
    private final CountDownLatch ready;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    Fit(int replicas) {
        this.replicated = new CountDownLatch(replicas);
        this.ready = new CountDownLatch(replicas);
    }

    /** Says that one more replica has its copy of the source, and waits for the others. */
    void awaitCopies() throws InterruptedException {
        await(replicated);
    }

    /** Says that one more replica can train, and waits for the others. */
    void awaitReady() throws InterruptedException {
        await(ready);
    }

    private void await(CountDownLatch all) throws InterruptedException {
        all.countDown();
        all.await();
        throwFailure();
    }

    /** Ends the waiting of all, and the fit. Only the first failure counts: others follow from it. */
    void fail(Throwable cause) {
        failure.compareAndSet(null, cause);
        release(replicated);
        release(ready);
    }

    private static void release(CountDownLatch latch) {
        while (latch.getCount() > 0) {
            latch.countDown();
        }
    }

    /** Says what else follows from the failure, beside its cause. */
    void addToFailure(Throwable consequence) {
        failure.get().addSuppressed(consequence);
    }

    boolean hasFailed() {
        return failure.get() != null;
    }

    /** Throws what the first replica that failed has thrown, if any has. */
    void throwFailure() {
        Throwable cause = failure.get();
        if (cause instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        if (cause instanceof Error error) {
            throw error;
        }
        if (cause != null) {
            throw new IllegalStateException(cause);
        }
    }
}
