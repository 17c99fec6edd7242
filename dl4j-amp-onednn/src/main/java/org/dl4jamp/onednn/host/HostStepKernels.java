package org.dl4jamp.onednn.host;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;

/** Passes over gradients in host memory, as fast as memory is. ND4J computes the rest. */
public final class HostStepKernels implements StepKernels {
    private final StepKernels portable;

    public HostStepKernels(StepKernels portable) {
        this.portable = portable;
    }

    @Override
    public boolean allFinite(INDArray gradients) {
        OptionalDouble largest = Magnitudes.largest(gradients);
        return largest.isPresent() ? Double.isFinite(largest.getAsDouble()) : portable.allFinite(gradients);
    }

    @Override
    public double norm2(List<INDArray> gradients) {
        return FlatFloats.ofAll(gradients).map(SquareSums::norm2).orElseGet(() -> portable.norm2(gradients));
    }

    @Override
    public boolean move(List<INDArray> gradients, List<INDArray> sums, boolean first) {
        return FlatFloats.ofAll(gradients)
                .flatMap(from -> FlatFloats.ofAll(sums).map(to -> GradientSums.move(from, to, first)))
                .orElseGet(() -> portable.move(gradients, sums, first));
    }

    @Override
    public double add(List<INDArray> sums, List<INDArray> gradients) {
        return FlatFloats.ofAll(sums)
                .flatMap(from -> FlatFloats.ofAll(gradients).map(to -> GradientSums.add(from, to)))
                .orElseGet(() -> portable.add(sums, gradients));
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
        FlatFloats.sumAll(passes);
    }
}
