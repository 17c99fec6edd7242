package org.dl4jamp.onednn.primitive;

import java.util.function.Supplier;
import org.bytedeco.javacpp.Loader;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * The amount of work of a primitive. Small work runs in the calling thread alone. Sharing work with OpenMP's other
 * threads costs little if each waits on a core of its own. It costs half a millisecond if another program uses that
 * core. Work of ten microseconds gains at most five.
 *
 * <p>A primitive is planned for the current number of threads, and has to run with that number. So a thread sets
 * OpenMP's number to one while it makes or runs {@linkplain #isSmall() small} work. OpenMP keeps that number per
 * calling thread, so that other threads keep theirs.
 *
 * @param operations multiplications and additions, or their equivalent; a core does some hundred in a nanosecond
 */
public record Work(double operations) {
    /** Ten microseconds or so of a core. */
    private static final double SMALL = 1L << 21;

    /** A core that reads, computes and writes a number could do that many operations of a product. */
    private static final double OPERATIONS_PER_NUMBER = 128;

    /** Work of any size, for all threads. */
    public static final Work LARGE = new Work(Double.POSITIVE_INFINITY);

    /** Work for the calling thread alone. */
    public static final Work ALONE = new Work(0);

    /** Returns the work of a pass over arrays. */
    public static Work ofNumbers(long numbers) {
        return new Work(OPERATIONS_PER_NUMBER * numbers);
    }

    /** Returns the work of a product of matrices, or of a sum of some. */
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

    /** Returns OpenMP's number of threads for the calling thread, after reducing it to {@link #useful} ones. */
    public static int threads() {
        int threads = Native.OPS.ompGetMaxThreads();
        int useful = useful(threads, Native.BY_DEFAULT, Native.PROCESSORS);
        if (useful != threads) {
            setThreads(useful);
        }
        return useful;
    }

    /**
     * Returns the number of the process's processors, unless the program or the environment has set another number.
     * ND4J begins with one thread for each core of the machine, also where a container or {@code taskset} gives the
     * process less. Threads of some of oneDNN's primitives, such as the weight gradient of convolutions, wait actively
     * for one another. Without a processor for each thread they wait for the scheduler.
     *
     * @param threads OpenMP's number for a thread
     * @param byDefault ND4J's choice for the thread that starts it, or 0 if the user's environment has chosen
     * @param processors number of processors that the process may use
     */
    static int useful(int threads, int byDefault, int processors) {
        return threads == byDefault ? Math.min(threads, processors) : threads;
    }

    /** Sets OpenMP's number of threads for the calling thread. */
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

        /** Returns the number that ND4J sets in OpenMP for the thread that starts it; 0 if it's unknown. */
        private static int coresOfChip() {
            int chips = Loader.totalChips();
            return chips > 0 ? Loader.totalCores() / chips : 0;
        }
    }
}
