package org.dl4jamp.onednn.primitive;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.dl4jamp.precision.AmpException;

/**
 * The parts of a computation, such as the examples of a minibatch in all time steps, each in a thread of its own. Parts
 * share nothing that they write: each has a context, and kernels that run {@linkplain Work#ALONE alone}. They wait for
 * one another once. OpenMP's threads wait after each of thousands of small products, which takes many times as long
 * where another program has one of the processors.
 */
public final class Parts implements AutoCloseable {
    private static final long IDLE_SECONDS = 10;

    /** Turns that OpenMP's threads may wait actively, which take less than 0.2 ms; libgomp's default takes some ms. */
    private static final long SHORT_SPIN = 20_000;

    private static final boolean PROCESSORS_ARE_FREE = areProcessorsFree(System.getenv());

    private final OneDnnContext whole;
    private final List<OneDnnContext> contexts = new ArrayList<>();
    private final AtomicInteger started = new AtomicInteger();
    // Its threads end when they have been idle, so a network that is dropped leaves none.
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), this::thread);

    Parts(OneDnnContext whole) {
        this.whole = whole;
    }

    /** Returns whether OpenMP's threads soon leave their processors to others after a primitive. */
    public static boolean areProcessorsFree() {
        return PROCESSORS_ARE_FREE;
    }

    static boolean areProcessorsFree(Map<String, String> environment) {
        String turns = environment.getOrDefault("GOMP_SPINCOUNT", "").trim();
        return turns.isEmpty()
                ? environment.getOrDefault("OMP_WAIT_POLICY", "").trim().equalsIgnoreCase("PASSIVE")
                : turns.matches("\\d{1,18}") && Long.parseLong(turns) <= SHORT_SPIN;
    }

    private Thread thread(Runnable work) {
        Thread thread = new Thread(work, "dl4j-amp-onednn-part-" + started.incrementAndGet());
        thread.setDaemon(true);
        return thread;
    }

    /** Returns the context for the kernels of a part, which other computations of the same number share. */
    public OneDnnContext context(int part) {
        while (contexts.size() <= part) {
            contexts.add(new OneDnnContext(whole.infers()) {
                @Override
                void beforeKernel() {
                    whole.beforeKernel();
                }
            });
        }
        return contexts.get(part);
    }

    /**
     * Runs all parts, the first in the calling thread, and returns when all of them have ended.
     *
     * @throws AmpException if one fails, after the others have ended
     */
    public void run(List<Runnable> parts) {
        List<CompletableFuture<Void>> others = new ArrayList<>();
        try {
            parts.stream().skip(1).forEach(part -> others.add(CompletableFuture.runAsync(part, threads)));
            parts.get(0).run();
        } finally {
            // The caller may free memory that they use, also if a part has failed.
            others.forEach(Parts::await);
        }
        others.forEach(Parts::requireSuccess);
    }

    private static void await(CompletableFuture<Void> part) {
        part.handle((nothing, failure) -> failure).join();
    }

    private static void requireSuccess(CompletableFuture<Void> part) {
        try {
            part.join();
        } catch (CompletionException e) {
            throw new AmpException(e.getCause().getMessage(), e.getCause());
        }
    }

    /** Frees what kernels of the parts share. These are to be closed before. */
    @Override
    public void close() {
        threads.shutdown();
        contexts.forEach(OneDnnContext::close);
        contexts.clear();
    }
}
