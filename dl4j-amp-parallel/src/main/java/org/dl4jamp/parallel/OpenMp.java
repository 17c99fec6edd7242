package org.dl4jamp.parallel;

import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Sets the number of OpenMP's threads for a thread's native work. OpenMP keeps that number for each calling thread. It
 * holds for ND4J's operations and oneDNN, which share one OpenMP. ND4J's matrix products are OpenBLAS's, which has
 * threads of its own.
 */
final class OpenMp {
    private OpenMp() {}

    /** Returns the number of the calling thread; 1 if the backend isn't one of CPUs. */
    static int threads() {
        return isCpu() ? ops().ompGetMaxThreads() : 1;
    }

    /**
     * Sets the number of the calling thread. Does nothing if the backend isn't one of CPUs, where ND4J uses the number
     * for something else.
     */
    static void setThreads(int threads) {
        if (isCpu()) {
            ops().setOmpNumThreads(threads);
        }
    }

    private static boolean isCpu() {
        return Nd4j.getEnvironment().isCPU();
    }

    private static NativeOps ops() {
        return NativeOpsHolder.getInstance().getDeviceNativeOps();
    }
}
