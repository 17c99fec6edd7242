package org.dl4jamp.onednn;

import java.nio.IntBuffer;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.AdamUpdater;
import org.nd4j.linalg.learning.GradientUpdater;

/** Passes over gradients in host memory, as fast as memory is. What they don't cover is ND4J's. */
final class OneDnnStepKernels implements StepKernels {
    private final StepKernels portable;

    /**
     * @param portable does what isn't covered
     */
    OneDnnStepKernels(StepKernels portable) {
        this.portable = portable;
    }

    @Override
    public boolean allFinite(INDArray gradients) {
        return FlatFloats.of(gradients)
                .map(flat -> FlatFloats.allRanges(flat.length(), (start, size) -> areFinite(flat.bits(start, size))))
                .orElseGet(() -> portable.allFinite(gradients));
    }

    private static boolean areFinite(IntBuffer numbers) {
        int[] chunk = new int[FlatFloats.CHUNK];
        int overflow = 0;
        while (numbers.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, numbers.remaining());
            numbers.get(chunk, 0, size);
            overflow |= overflow(chunk, size);
        }
        return overflow >= 0;
    }

    /** Negative if the exponent of one of the numbers is the largest, which is that of infinities and NaN. */
    private static int overflow(int[] numbers, int size) {
        int exponent = 0x7f800000;
        int lowestBit = 0x00800000;
        int overflow = 0;
        for (int i = 0; i < size; i++) {
            overflow |= (numbers[i] & exponent) + lowestBit;
        }
        return overflow;
    }

    @Override
    public GradientUpdater<?> updater(GradientUpdater<?> plain) {
        // Subclasses may compute anything.
        return plain != null && plain.getClass() == AdamUpdater.class
                ? new VectorizedAdam((AdamUpdater) plain)
                : portable.updater(plain);
    }
}
