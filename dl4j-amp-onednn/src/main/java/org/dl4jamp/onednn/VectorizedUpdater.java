package org.dl4jamp.onednn;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.engine.DividingUpdater;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * An updater of ND4J's, over its state, in vector instructions and one pass over memory, division by the minibatch included. What is scattered in
 * memory is left to ND4J.
 *
 * @param <T> its configuration
 * @param <U> ND4J's updater
 */
abstract class VectorizedUpdater<T extends IUpdater, U extends GradientUpdater<T>> implements DividingUpdater<T> {
    private final U plain;
    private int examples = 1;

    /**
     * @param plain ND4J's updater, with its state
     */
    VectorizedUpdater(U plain) {
        this.plain = plain;
    }

    /** The arithmetic of one step. */
    interface Step {
        /**
         * Makes updates of the first gradients of an array, in place. The loops have to be such that the compiler turns them into vector
         * instructions.
         *
         * @param g gradients, to be replaced by the updates
         * @param state for each array of the state its numbers for the same parameters, to be replaced
         * @param size how many there are
         */
        void run(float[] g, float[][] state, int size);
    }

    /** ND4J's updater. */
    final U plain() {
        return plain;
    }

    /** The arrays of the state, each of a number for each parameter. */
    abstract List<INDArray> state();

    /**
     * The arithmetic of a step.
     *
     * @param divisor what the gradients are to be divided by
     */
    abstract Step step(int iteration, int epoch, float divisor);

    @Override
    public final void divideNextBy(int count) {
        examples = count;
    }

    @Override
    public final void applyUpdater(INDArray gradient, int iteration, int epoch) {
        int divisor = examples;
        examples = 1;
        Optional<FlatFloats> g = FlatFloats.of(gradient);
        List<FlatFloats> flat = new ArrayList<>();
        for (INDArray array : state()) {
            FlatFloats.of(array).ifPresent(flat::add);
        }
        if (g.isEmpty() || flat.size() < state().size()) {
            if (divisor != 1) {
                gradient.divi(divisor);
            }
            plain.applyUpdater(gradient, iteration, epoch);
            return;
        }
        Step step = step(iteration, epoch, divisor);
        FlatFloats.forEachRange(gradient.length(), (start, size) -> {
            FloatBuffer[] numbers = new FloatBuffer[flat.size()];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = flat.get(i).range(start, size);
            }
            run(step, g.get().range(start, size), numbers);
        });
    }

    private static void run(Step step, FloatBuffer gradients, FloatBuffer[] state) {
        float[] g = new float[FlatFloats.CHUNK];
        float[][] chunks = new float[state.length][FlatFloats.CHUNK];
        while (gradients.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, gradients.remaining());
            int at = gradients.position();
            gradients.get(at, g, 0, size);
            for (int i = 0; i < state.length; i++) {
                state[i].get(at, chunks[i], 0, size);
            }
            step.run(g, chunks, size);
            gradients.put(g, 0, size);
            for (int i = 0; i < state.length; i++) {
                state[i].put(at, chunks[i], 0, size);
            }
        }
    }

    @Override
    public T getConfig() {
        return plain.getConfig();
    }

    @Override
    public void setState(Map<String, INDArray> stateMap, boolean initialize) {
        plain.setState(stateMap, initialize);
    }

    @Override
    public Map<String, INDArray> getState() {
        return plain.getState();
    }

    @Override
    public void setStateViewArray(INDArray viewArray, long[] gradientShape, char gradientOrder, boolean initialize) {
        plain.setStateViewArray(viewArray, gradientShape, gradientOrder, initialize);
    }
}
