package org.dl4jamp.benchmarks.floor;

import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/** oneDNN's recurrent primitives have time as the first axis; blueprints have the minibatch there. */
final class Sequences {
    private final boolean recurrent;

    Sequences(Blueprint blueprint) {
        recurrent = blueprint.operations().stream().anyMatch(Operation.Lstm.class::isInstance);
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
