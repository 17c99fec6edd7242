package org.dl4jamp.gradient;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.LongToDoubleFunction;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.Skip;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The micro-batches whose gradients make one step. Those of all but the last are moved into an array of sums; those of
 * the last are added where they are, in the network's view. A group of one has no such array.
 *
 * <p>Layers can't add to the view itself. A listener that reads gradients between backward pass and step would see
 * sums. The loss scale is taken out of what a layer has just written. And DL4J's own layers write over what is there,
 * as does every pass between two micro-batches.
 */
public final class GradientGroup {
    /**
     * The batch of a step, of all its micro-batches together.
     *
     * @param norm the Euclidean norm of their true gradients, means over all examples, if it was measured
     * @param skip the reason to skip the step, if there is one
     */
    public record EffectiveBatch(long examples, OptionalDouble norm, Optional<Skip> skip) {}

    /**
     * A group of micro-batches that isn't complete, with {@code AmpConfig.accumulate}.
     *
     * @param microBatches their number, at least 1
     * @param examples number of their examples, at least 1
     * @param sums their gradients, added up: FLOAT, one for each of the network's parameters; empty if they'll be
     *     skipped
     * @param skip the reason to skip their step, if there is one
     */
    public record WaitingGroup(int microBatches, long examples, Optional<INDArray> sums, Optional<Skip> skip) {
        public WaitingGroup {
            AmpException.ifNull(sums, "sums", "gradients, or none");
            AmpException.ifNull(skip, "skip", "the reason to skip their step, or nothing");
            if (microBatches < 1 || examples < 1) {
                throw new AmpException("microBatches is " + microBatches + " and examples is " + examples
                        + ", but both have to be at least 1");
            }
        }
    }

    /** The micro-batches taken, and the reason to skip them, if there is one; read by other threads. */
    private record Progress(int microBatches, long examples, Optional<Skip> skip) {
        static final Progress NONE = new Progress(0, 0, Optional.empty());

        Progress with(int more, Optional<Skip> ofNext) {
            // The scaler has to be updated for an overflow.
            boolean stays = skip.isPresent()
                    && (skip.get().isOverflow()
                            || !ofNext.filter(Skip::isOverflow).isPresent());
            return new Progress(microBatches + 1, examples + more, stays ? skip : ofNext);
        }
    }

    private final int size;
    private final boolean measuresNorm;
    private final LongToDoubleFunction divisor;
    private INDArray sum;
    private volatile Progress taken = Progress.NONE;
    private OptionalDouble norm = OptionalDouble.empty();

    /**
     * @param size number of micro-batches in a step, at least 1
     * @param measuresNorm whether the norm of a group of one is measured; of several it always is
     * @param divisor the divisor that makes means of sums over that many examples
     */
    public GradientGroup(int size, boolean measuresNorm, LongToDoubleFunction divisor) {
        this.size = size;
        this.divisor = divisor;
        this.measuresNorm = measuresNorm;
    }

    public int size() {
        return size;
    }

    public boolean collects() {
        return size > 1;
    }

    private boolean endsWithNext() {
        // More may have been restored.
        return taken.microBatches() >= size - 1;
    }

    /**
     * Takes the gradients of one more micro-batch out of the view. Those of the last one become those of the whole
     * group and stay, unless the group is skipped.
     *
     * @param examples number of examples in the micro-batch
     * @return whether all numbers are finite; where they aren't, they are still in the view, so that one can see which
     */
    public boolean take(GradientParts.Parted gradients, int examples, StepKernels kernels) {
        boolean alone = endsWithNext() && isEmpty();
        boolean skipped = taken.skip().isPresent();
        if (skipped || (alone && !measuresNorm)) {
            boolean finite = kernels.allFinite(gradients.all());
            if (skipped && finite) {
                gradients.clearGradients();
            }
            return finite;
        }
        boolean updates = gradients.updates().stream().allMatch(kernels::allFinite);
        if (endsWithNext()) {
            double ofMeans = divisor.applyAsDouble(taken.examples() + examples);
            double known = alone ? gradients.norm(kernels, ofMeans) : add(gradients, kernels) / ofMeans;
            norm = OptionalDouble.of(known);
            return updates && Double.isFinite(known);
        }
        GradientParts.Parted to = sumsLike(gradients);
        if (kernels.move(gradients.sums(), to.sums(), isEmpty())) {
            return updates;
        }
        for (int i = 0; i < to.sums().size(); i++) {
            gradients.sums().get(i).assign(to.sums().get(i));
        }
        return false;
    }

    private GradientParts.Parted sumsLike(GradientParts.Parted gradients) {
        INDArray all = gradients.all();
        if (sum == null || sum.length() != all.length()) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                sum = Nd4j.create(all.dataType(), all.length());
            }
        }
        return gradients.parts().of(sum);
    }

    /** Counts a micro-batch that was taken, with the reason to skip the whole group, if there is one. */
    public void count(int more, Optional<Skip> skip) {
        taken = taken.with(more, skip);
    }

    public boolean isComplete() {
        return taken.microBatches() >= size;
    }

    public boolean isEmpty() {
        return taken.microBatches() == 0;
    }

    /** Adds the gradients of a group that ends early to zeros in the network's view. */
    public void giveTo(GradientParts.Parted gradients, StepKernels kernels) {
        if (taken.skip().isEmpty()) {
            norm = OptionalDouble.of(add(gradients, kernels) / divisor.applyAsDouble(taken.examples()));
        }
    }

    /** Adds the group's sums to gradients, and returns the norm of the sums of all. */
    private double add(GradientParts.Parted gradients, StepKernels kernels) {
        return kernels.add(sumsLike(gradients).sums(), gradients.sums());
    }

    /** Returns a copy of a group that isn't complete, empty if it hasn't begun. */
    public Optional<WaitingGroup> waiting() {
        Progress now = taken;
        if (now.microBatches() == 0) {
            return Optional.empty();
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            Optional<INDArray> copy = now.skip().isEmpty() ? Optional.of(sum.dup()) : Optional.empty();
            return Optional.of(new WaitingGroup(now.microBatches(), now.examples(), copy, now.skip()));
        }
    }

    /**
     * Goes on with a copy of a group.
     *
     * @param parameters number of the network's parameters
     * @throws AmpException if they aren't as many as the group has gradients
     */
    public void restore(WaitingGroup waiting, long parameters) {
        long sums = waiting.sums().map(INDArray::length).orElse(waiting.skip().isPresent() ? parameters : 0);
        if (sums != parameters) {
            throw new AmpException("waiting: " + sums + " gradients, but the network has " + parameters
                    + " parameters; restore it with the state that was saved with it, or without what waits");
        }
        taken = new Progress(waiting.microBatches(), waiting.examples(), waiting.skip());
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            sum = waiting.sums().map(INDArray::dup).orElse(null);
        }
    }

    /** Ends the group and begins the next one. Returns its batch; the norm was measured with the last micro-batch. */
    public EffectiveBatch end() {
        EffectiveBatch batch = new EffectiveBatch(taken.examples(), norm, taken.skip());
        taken = Progress.NONE;
        norm = OptionalDouble.empty();
        return batch;
    }
}
