package org.dl4jamp.benchmarks.blueprint;

import java.util.List;

/**
 * A network and how it's trained.
 *
 * @param name of the case
 * @param operations in an order in which each comes after its inputs; the last one's output goes into the loss
 * @param loss the loss that is minimized
 * @param updater the updater of the parameters
 */
public record Blueprint(String name, List<Operation> operations, Loss loss, Updater updater) {
    /** The input's name for operations that take the features. */
    public static final String INPUT = "input";

    /**
     * The features in {@link Tensors}: {@code [minibatch, features]}, {@code [minibatch, channels, height, width]} or
     * {@code [minibatch, time, features]}.
     */
    public static final String FEATURES = "features";

    /** The labels in {@link Tensors}: of the output's shape, or the number of the class for each row of it. */
    public static final String LABELS = "labels";

    /**
     * Stock DL4J's output in inference, in {@link Tensors}: heights or probabilities of pixels {@code [minibatch,
     * channels, height, width]}, or probabilities of classes {@code [minibatch, classes]} or {@code [minibatch, time,
     * classes]}. Only for cases with inference.
     */
    public static final String OUTPUT = "output";

    public Blueprint {
        operations = List.copyOf(operations);
    }

    /** Returns the name of an operation's weights or other parameters in {@link Tensors}. */
    public static String parameter(Operation operation, Parameter parameter) {
        return operation.name() + "/" + parameter;
    }
}
