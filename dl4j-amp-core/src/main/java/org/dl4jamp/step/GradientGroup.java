package org.dl4jamp.step;

import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.AmpException;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The micro-batches whose gradients make one step: the gradients of all but the last are moved into an array of their own, to which those of the last are added
 * where they are, in the network's view. A group of one has no such array.
 *
 * <p>Why not have the layers add to what is in the view: whoever looks at gradients between backward pass and step, such as a listener, would see sums, the loss scale is
 * taken out of what a layer has just written, DL4J's own layers write over what is there, and so does everybody who asks for gradients between two micro-batches.
 */
final class GradientGroup {
    /**
     * How far the group is, for whoever asks from another thread.
     *
     * @param microBatches how many were taken
     * @param examples how many they have together
     * @param failure why they are to be left out, if they are
     */
    private record Progress(int microBatches, long examples, Optional<Skip> failure) {
        static final Progress NONE = new Progress(0, 0, Optional.empty());

        Progress with(int more, Optional<Skip> skip) {
            // An overflow is what the scaler has to hear of.
            boolean tells = failure.isEmpty()
                    || (skip.isPresent()
                            && skip.get().overflow()
                            && !failure.get().overflow());
            return new Progress(microBatches + 1, examples + more, tells ? skip : failure);
        }
    }

    private final int size;
    private final boolean measuresNorm;
    private INDArray sum;
    private GradientParts partsOfSum;
    private GradientParts.Parted parted;
    private volatile Progress taken = Progress.NONE;
    private OptionalDouble norm = OptionalDouble.empty();

    /**
     * @param size how many micro-batches make a step, at least 1
     * @param measuresNorm whether the norm of a group of one is to be known; of several it's known anyway
     */
    GradientGroup(int size, boolean measuresNorm) {
        this.size = size;
        this.measuresNorm = measuresNorm;
    }

    /** Whether there are several micro-batches in a step. */
    boolean collects() {
        return size > 1;
    }

    /** Whether the next micro-batch is the last one. */
    private boolean endsWithNext() {
        // More may have been restored.
        return taken.microBatches() >= size - 1;
    }

    /**
     * Takes the gradients of one more micro-batch. Those of the last one become those of the whole group; the others become zeros.
     *
     * @param asWritten whether nobody may have changed them since layers wrote them, but to make them smaller
     * @return whether all are finite; if not, one can still see where they aren't
     */
    boolean take(GradientParts parts, GradientParts.Parted gradients, StepKernels kernels, boolean asWritten) {
        boolean alone = endsWithNext() && isEmpty();
        if (failure().isPresent() || (alone && !measuresNorm)) {
            return asWritten ? kernels.allFiniteAsWritten(gradients.all()) : kernels.allFinite(gradients.all());
        }
        boolean updates = gradients.updates().stream().allMatch(kernels::allFinite);
        if (endsWithNext()) {
            double known = alone
                    ? kernels.norm2(gradients.sums())
                    : kernels.add(sum(parts, gradients.all()).sums(), gradients.sums());
            norm = OptionalDouble.of(known);
            return updates && Double.isFinite(known);
        }
        GradientParts.Parted to = sum(parts, gradients.all());
        if (kernels.move(gradients.sums(), to.sums(), isEmpty())) {
            return updates;
        }
        for (int i = 0; i < to.sums().size(); i++) {
            gradients.sums().get(i).assign(to.sums().get(i));
        }
        return false;
    }

    @SuppressWarnings("ReferenceEquality")
    private GradientParts.Parted sum(GradientParts parts, INDArray like) {
        if (sum == null || sum.length() != like.length()) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                sum = Nd4j.create(like.dataType(), like.length());
            }
            partsOfSum = null;
        }
        if (partsOfSum != parts) {
            partsOfSum = parts;
            parted = parts.of(sum);
        }
        return parted;
    }

    /**
     * Counts a micro-batch that was taken.
     *
     * @param more its examples
     * @param skip why the whole group is to be left out, if it is
     * @return whether it was the last one
     */
    boolean count(int more, Optional<Skip> skip) {
        taken = taken.with(more, skip);
        return taken.microBatches() >= size;
    }

    /** Why the group is to be left out. */
    Optional<Skip> failure() {
        return taken.failure();
    }

    /** What the group is made of, for the step; the norm is only known when the last micro-batch was taken. */
    EffectiveBatch batch() {
        return new EffectiveBatch(taken.examples(), norm);
    }

    /** Whether there is no micro-batch in it yet. */
    boolean isEmpty() {
        return taken.microBatches() == 0;
    }

    /** Adds the gradients of a group that ends early to zeros in the network's view. */
    void giveTo(GradientParts parts, GradientParts.Parted gradients, StepKernels kernels) {
        if (failure().isEmpty()) {
            norm = OptionalDouble.of(kernels.add(sum(parts, gradients.all()).sums(), gradients.sums()));
        }
    }

    /** A copy of a group that isn't complete, empty if it hasn't begun. */
    Optional<WaitingGroup> waiting() {
        Progress now = taken;
        if (now.microBatches() == 0) {
            return Optional.empty();
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            Optional<INDArray> copy = now.failure().isEmpty() ? Optional.of(sum.dup()) : Optional.empty();
            return Optional.of(new WaitingGroup(now.microBatches(), now.examples(), copy, now.failure()));
        }
    }

    /**
     * Goes on with a copy of a group.
     *
     * @param parameters how many the network has
     * @throws AmpException if they aren't as many as the group has gradients
     */
    void restore(WaitingGroup waiting, long parameters) {
        long sums =
                waiting.sums().map(INDArray::length).orElse(waiting.failure().isPresent() ? parameters : 0);
        if (sums != parameters) {
            throw new AmpException("waiting: " + sums + " gradients, but the network has " + parameters
                    + " parameters; restore it with the state that was saved with it, or without what waits");
        }
        taken = new Progress(waiting.microBatches(), waiting.examples(), waiting.failure());
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            sum = waiting.sums().map(INDArray::dup).orElse(null);
        }
        partsOfSum = null;
    }

    /** Begins with the next group. */
    void clear() {
        taken = Progress.NONE;
        norm = OptionalDouble.empty();
    }
}
