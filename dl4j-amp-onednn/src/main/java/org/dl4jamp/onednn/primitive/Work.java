package org.dl4jamp.onednn.primitive;

import java.util.function.Supplier;
import org.bytedeco.javacpp.Loader;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * How much a primitive has to do, and so whether the calling thread does it alone. To hand work to OpenMP's other
 * threads and to wait for them costs little where they wait for it, each on a core of its own, and half a millisecond
 * where another program has that core. What is done in about ten microseconds gains at most half of these.
 *
 * <p>A primitive is planned for the number of threads that its maker has, and has to run with that: so the thread that
 * makes, and later runs, what is {@linkplain #isSmall() small} has OpenMP count it alone for that time. OpenMP keeps
 * that number for each thread that calls it, so that no other thread notices.
 *
 * @param operations multiplications and additions, of which a core does some hundred in a nanosecond, or the like
 */
public record Work(double operations) {
    /** Ten microseconds or so of a core. */
    private static final double SMALL = 1L << 21;

    /** A core that reads, computes and writes a number could do that many operations of a product. */
    private static final double OPERATIONS_PER_NUMBER = 128;

    /** Work of any size, for all threads. */
    public static final Work LARGE = new Work(Double.POSITIVE_INFINITY);

    /** A pass over arrays. */
    public static Work ofNumbers(long numbers) {
        return new Work(OPERATIONS_PER_NUMBER * numbers);
    }

    /** A product of matrices, or a sum of some. */
    public static Work ofProducts(long multiplications) {
        return new Work(2.0 * multiplications);
    }

    /** Returns whether other threads would cost more than they save. */
    boolean isSmall() {
        return operations < SMALL;
    }

    /** Makes something with the threads that it is to run with. */
    public <T> T withItsThreads(Supplier<T> maker) {
        int before = threads();
        setThreads(isSmall() ? 1 : before);
        try {
            return maker.get();
        } finally {
            setThreads(before);
        }
    }

    /**
     * Returns how many threads OpenMP takes if this thread asks it to; from then on no more than {@link #useful} ones.
     */
    public static int threads() {
        int threads = Native.OPS.ompGetMaxThreads();
        int useful = useful(threads, Native.BY_DEFAULT, Native.PROCESSORS);
        if (useful != threads) {
            setThreads(useful);
        }
        return useful;
    }

    /**
     * As many as the process has processors, unless somebody has set another number. ND4J begins with one for each core
     * of the machine, also where a container or {@code taskset} gives the process less. Some of oneDNN's primitives,
     * such as the weight gradient of convolutions, wait actively for one another: for a thread without a processor
     * until the scheduler takes one away, in each of them.
     *
     * @param threads OpenMP's number for a thread
     * @param byDefault ND4J's choice for the thread that starts it, or 0 if the user's environment has chosen
     * @param processors what the process may use
     */
    static int useful(int threads, int byDefault, int processors) {
        return threads == byDefault ? Math.min(threads, processors) : threads;
    }

    /** Has OpenMP take that many when this thread asks it to. */
    public static void setThreads(int threads) {
        Native.OPS.setOmpNumThreads(threads);
    }

    /** ND4J's library is linked with the OpenMP that oneDNN's is linked with. */
    private static final class Native {
        static {
            // The holder finds no backend before ND4J has started.
            Nd4j.getExecutioner();
        }

        static final NativeOps OPS = NativeOpsHolder.getInstance().getDeviceNativeOps();
        static final int PROCESSORS = Runtime.getRuntime().availableProcessors();
        static final int BY_DEFAULT = System.getenv("OMP_NUM_THREADS") == null ? coresOfChip() : 0;

        /** Returns what ND4J tells OpenMP when it starts, in the thread that starts it; 0 if it can't count. */
        private static int coresOfChip() {
            int chips = Loader.totalChips();
            return chips > 0 ? Loader.totalCores() / chips : 0;
        }
    }
}
