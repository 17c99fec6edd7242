package org.dl4jamp.benchmarks.blueprint;

import java.util.List;

/**
 * A network and how it's trained.
 *
 * @param name of the case
 * @param operations in an order in which each comes after its inputs; the last one's output goes into the loss
 * @param loss what is minimized
 * @param updater how the parameters move
 */
public record Blueprint(String name, List<Operation> operations, Loss loss, Updater updater) {
    /** What operations name as their input where they take the features. */
    public static final String INPUT = "input";

    /**
     * The features in {@link Tensors}: {@code [minibatch, features]}, {@code [minibatch, channels, height, width]} or
     * {@code [minibatch, time, features]}.
     */
    public static final String FEATURES = "features";

    /** The labels in {@link Tensors}: of the output's shape, or the number of the class for each row of it. */
    public static final String LABELS = "labels";

    /**
     * What stock DL4J infers, in {@link Tensors}: heights {@code [minibatch, channels, height, width]}, or
     * probabilities of classes {@code [minibatch, classes]} or {@code [minibatch, time, classes]}. Only where there is
     * something to infer.
     */
    public static final String OUTPUT = "output";

    public Blueprint {
        operations = List.copyOf(operations);
    }

    /** The name of an operation's weights or other parameters in {@link Tensors}. */
    public static String parameter(Operation operation, Parameter parameter) {
        return operation.name() + "/" + parameter;
    }
}
