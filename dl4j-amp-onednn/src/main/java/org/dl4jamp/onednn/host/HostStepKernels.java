package org.dl4jamp.onednn.host;

import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;

/** Passes over gradients in host memory, as fast as memory is. ND4J computes the rest. */
public final class HostStepKernels implements StepKernels {
    private final StepKernels portable;

    /** @param portable computes the rest */
    public HostStepKernels(StepKernels portable) {
        this.portable = portable;
    }

    @Override
    public boolean allFinite(INDArray gradients) {
        return FlatFloats.of(gradients).map(HostStepKernels::areFinite).orElseGet(() -> portable.allFinite(gradients));
    }

    private static boolean areFinite(FlatFloats numbers) {
        return FlatFloats.allRanges(numbers.length(), (start, size) -> areFinite(numbers.bits(start, size)));
    }

    private static boolean areFinite(IntBuffer numbers) {
        int[] chunk = new int[FlatFloats.CHUNK];
        int[] overflows = new int[FlatFloats.CHUNK];
        while (numbers.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, numbers.remaining());
            numbers.get(chunk, 0, size);
            addOverflows(chunk, overflows, size);
        }
        int overflow = 0;
        for (int one : overflows) {
            overflow |= one;
        }
        return overflow >= 0;
    }

    /**
     * Writes a negative result for numbers with the largest exponent, that of infinities and NaN. There is one result
     * for each place of a chunk: the compiler doesn't vectorize a loop with a single result.
     */
    private static void addOverflows(int[] numbers, int[] overflows, int size) {
        int exponent = 0x7f800000;
        int lowestBit = 0x00800000;
        for (int i = 0; i < size; i++) {
            overflows[i] |= (numbers[i] & exponent) + lowestBit;
        }
    }

    @Override
    public double norm2(List<INDArray> gradients) {
        return flat(gradients).map(SquareSums::norm2).orElseGet(() -> portable.norm2(gradients));
    }

    @Override
    public boolean move(List<INDArray> gradients, List<INDArray> sums, boolean first) {
        Optional<List<FlatFloats>> from = flat(gradients);
        Optional<List<FlatFloats>> to = flat(sums);
        return (from.isPresent() && to.isPresent())
                ? GradientSums.move(from.get(), to.get(), first)
                : portable.move(gradients, sums, first);
    }

    @Override
    public double add(List<INDArray> sums, List<INDArray> gradients) {
        Optional<List<FlatFloats>> from = flat(sums);
        Optional<List<FlatFloats>> to = flat(gradients);
        return (from.isPresent() && to.isPresent())
                ? GradientSums.add(from.get(), to.get())
                : portable.add(sums, gradients);
    }

    /** Returns the arrays' numbers; empty if those of one array are scattered. */
    private static Optional<List<FlatFloats>> flat(List<INDArray> arrays) {
        List<FlatFloats> flat = new ArrayList<>();
        arrays.forEach(array -> FlatFloats.of(array).ifPresent(flat::add));
        return flat.size() == arrays.size() ? Optional.of(flat) : Optional.empty();
    }

    @Override
    public boolean isOnePass(GradientUpdater<?> updater) {
        return VectorizedUpdater.of(updater).isPresent();
    }

    @Override
    public void applyAll(List<Update> updates) {
        List<FlatFloats.Pass> passes = new ArrayList<>();
        for (Update update : updates) {
            VectorizedUpdater.of(update.updater())
                    .flatMap(vectorized -> vectorized.pass(update))
                    .ifPresentOrElse(passes::add, update::apply);
        }
        FlatFloats.runAll(passes);
    }
}
