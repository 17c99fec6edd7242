package org.dl4jamp.engine.host;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.engine.OnePassUpdater;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * An updater of ND4J's, over its state, in vector instructions and one pass over memory, division by the minibatch and subtraction from the
 * parameters included. What is scattered in memory is left to ND4J.
 *
 * @param <T> its configuration
 * @param <U> ND4J's updater
 */
abstract class VectorizedUpdater<T extends IUpdater, U extends GradientUpdater<T>> implements OnePassUpdater<T> {
    private final U plain;
    private int examples = 1;
    private INDArray parameters;

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
         * @param state for each array of the state, and maybe others behind them, its numbers for the same parameters, to be replaced
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
    public final void subtractNextFrom(INDArray ofThese) {
        parameters = ofThese;
    }

    @Override
    public final void applyUpdater(INDArray gradient, int iteration, int epoch) {
        pass(gradient, iteration, epoch).ifPresent(pass -> FlatFloats.runAll(List.of(pass)));
    }

    /** What {@link #applyUpdater} has to do; empty if ND4J has done it. */
    final Optional<FlatFloats.Pass> pass(INDArray gradient, int iteration, int epoch) {
        int divisor = examples;
        INDArray minuend = parameters;
        examples = 1;
        parameters = null;
        List<INDArray> arrays = new ArrayList<>(state());
        if (minuend != null) {
            arrays.add(minuend);
        }
        Optional<FlatFloats> g = FlatFloats.of(gradient);
        List<FlatFloats> flat = new ArrayList<>();
        for (INDArray array : arrays) {
            FlatFloats.of(array).ifPresent(flat::add);
        }
        if (g.isEmpty() || flat.size() < arrays.size()) {
            if (divisor != 1) {
                gradient.divi(divisor);
            }
            plain.applyUpdater(gradient, iteration, epoch);
            if (minuend != null) {
                minuend.subi(gradient.reshape(minuend.shape()));
            }
            return Optional.empty();
        }
        Step step = step(iteration, epoch, divisor);
        Step whole = minuend == null ? step : andSubtract(step, flat.size() - 1);
        return Optional.of(new FlatFloats.Pass(gradient.length(), (start, size) -> {
            FloatBuffer[] numbers = new FloatBuffer[flat.size()];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = flat.get(i).range(start, size);
            }
            run(whole, g.get().range(start, size), numbers);
        }));
    }

    /** A step, and the subtraction of its updates from the last of the arrays. */
    private static Step andSubtract(Step step, int last) {
        return (g, numbers, size) -> {
            step.run(g, numbers, size);
            subtract(numbers[last], g, size);
        };
    }

    private static void subtract(float[] numbers, float[] subtrahends, int size) {
        for (int i = 0; i < size; i++) {
            numbers[i] -= subtrahends[i];
        }
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
