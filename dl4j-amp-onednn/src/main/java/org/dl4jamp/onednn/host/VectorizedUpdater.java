package org.dl4jamp.onednn.host;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.AdamUpdater;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.NesterovsUpdater;
import org.nd4j.linalg.learning.NoOpUpdater;
import org.nd4j.linalg.learning.SgdUpdater;

/**
 * The arithmetic of an updater of ND4J's, over its state, in vector instructions and one pass over memory, division by
 * the minibatch included.
 */
abstract class VectorizedUpdater {
    /** Returns the same arithmetic as that of an updater of ND4J's; empty if there is none, or it's null. */
    static Optional<VectorizedUpdater> of(GradientUpdater<?> plain) {
        if (plain == null) {
            return Optional.empty();
        }
        // Subclasses may compute anything.
        if (plain.getClass() == AdamUpdater.class) {
            return Optional.of(new VectorizedAdam((AdamUpdater) plain));
        }
        if (plain.getClass() == NesterovsUpdater.class) {
            return Optional.of(new VectorizedNesterovs((NesterovsUpdater) plain));
        }
        if (plain.getClass() == SgdUpdater.class) {
            return Optional.of(new VectorizedSgd((SgdUpdater) plain));
        }
        return plain.getClass() == NoOpUpdater.class ? Optional.of(new VectorizedNoOp()) : Optional.empty();
    }

    /** The arithmetic of one step. */
    interface Step {
        /**
         * Makes updates of the first gradients of an array, in place. The loops have to be such that the compiler turns
         * them into vector instructions.
         *
         * @param g gradients, to be replaced by the updates
         * @param state for each array of the state its numbers for the same parameters, to be replaced
         * @param size how many there are
         */
        void run(float[] g, float[][] state, int size);
    }

    /** Returns the arrays of the state, each of a number for each parameter. */
    abstract List<INDArray> state();

    /**
     * Returns the arithmetic of a step.
     *
     * @param divisor the divisor of the gradients
     */
    abstract Step step(int iteration, int epoch, float divisor);

    /** Returns the passes of an update; empty if numbers are scattered in memory, where ND4J updates. */
    final Optional<FlatFloats.Pass> pass(StepKernels.Update update) {
        List<INDArray> arrays = state();
        Optional<FlatFloats> g = FlatFloats.of(update.gradients());
        List<FlatFloats> flat = new ArrayList<>();
        for (INDArray array : arrays) {
            FlatFloats.of(array).ifPresent(flat::add);
        }
        if (g.isEmpty() || flat.size() < arrays.size()) {
            return Optional.empty();
        }
        Step step = step(update.iteration(), update.epoch(), update.divisor());
        return Optional.of(new FlatFloats.Pass(g.get().length(), (start, size) -> {
            FloatBuffer[] numbers = new FloatBuffer[flat.size()];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = flat.get(i).range(start, size);
            }
            run(step, g.get().range(start, size), numbers);
        }));
    }

    private static void run(Step step, FloatBuffer gradients, FloatBuffer[] others) {
        float[] g = new float[FlatFloats.CHUNK];
        float[][] chunks = new float[others.length][FlatFloats.CHUNK];
        while (gradients.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, gradients.remaining());
            int at = gradients.position();
            gradients.get(at, g, 0, size);
            for (int i = 0; i < others.length; i++) {
                others[i].get(at, chunks[i], 0, size);
            }
            step.run(g, chunks, size);
            gradients.put(g, 0, size);
            for (int i = 0; i < others.length; i++) {
                others[i].put(at, chunks[i], 0, size);
            }
        }
    }
}
