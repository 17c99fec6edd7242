package org.dl4jamp.benchmarks.floor;

import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/**
 * The order of sequences. Blueprints have the minibatch as the first axis, oneDNN's recurrent primitives have time
 * there. Networks with attention keep the blueprint's order, with each step of each sequence as a row.
 */
final class Sequences {
    private final boolean recurrent;
    private final boolean rows;

    /** @throws IllegalArgumentException if it has both attention and LSTMs */
    Sequences(Blueprint blueprint) {
        recurrent = has(blueprint, Operation.Lstm.class);
        rows = has(blueprint, Operation.Attention.class);
        if (recurrent && rows) {
            throw new IllegalArgumentException("the floor has attention and LSTMs in different networks only");
        }
    }

    private static boolean has(Blueprint blueprint, Class<? extends Operation> kind) {
        return blueprint.operations().stream().anyMatch(kind::isInstance);
    }

    /** Returns features or labels in the order of the primitives. */
    Tensor arranged(Tensor tensor) {
        long[] shape = tensor.shape();
        return rows && shape.length == 3 ? tensor.reshape(shape[0] * shape[1], shape[2]) : timeFirst(tensor);
    }

    /**
     * Returns the output [time, minibatch, ...] as [minibatch, time, ...]; of a network without sequences the numbers
     * themselves.
     */
    float[] minibatchFirst(float[] numbers, int minibatch, int features) {
        if (!recurrent) {
            return numbers;
        }
        int time = numbers.length / minibatch / features;
        return timeFirst(new Tensor(new long[] {time, minibatch, features}, numbers))
                .values();
    }

    /**
     * Returns [minibatch, time] or [minibatch, time, features] as [time, minibatch, ...]; of a network without
     * sequences the tensor itself.
     */
    Tensor timeFirst(Tensor tensor) {
        if (!recurrent) {
            return tensor;
        }
        long[] shape = tensor.shape();
        int minibatch = (int) shape[0];
        int time = (int) shape[1];
        int features = shape.length == 3 ? (int) shape[2] : 1;
        float[] from = tensor.values();
        float[] to = new float[from.length];
        for (int example = 0; example < minibatch; example++) {
            for (int step = 0; step < time; step++) {
                System.arraycopy(
                        from,
                        (example * time + step) * features,
                        to,
                        (step * minibatch + example) * features,
                        features);
            }
        }
        shape[0] = time;
        shape[1] = minibatch;
        return new Tensor(shape, to);
    }
}
