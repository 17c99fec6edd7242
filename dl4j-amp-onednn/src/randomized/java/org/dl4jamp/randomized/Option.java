package org.dl4jamp.randomized;

import java.util.EnumSet;
import java.util.Set;

/** The options of a recipe beside its layers. */
enum Option {
    /** Layers with dropout of all kinds. */
    DROPOUT,
    /** Layers with weight noise. */
    WEIGHT_NOISE,
    /** Parameters that are kept within limits after each step. */
    CONSTRAINTS,
    /** L1, L2 and weight decay. */
    REGULARIZATION,
    /** DL4J's gradient normalization. */
    GRADIENT_NORMALIZATION,
    /** Frozen layers. */
    FROZEN,
    /** Masks of features and of labels. */
    MASKS,
    /** Learning rates by iteration or by epoch. */
    SCHEDULE,
    /** A second updater for some layers, and for biases. */
    SEVERAL_UPDATERS,
    /** Channels, or features, in the last axis. */
    CHANNELS_LAST,
    /** Several micro-batches make a step. */
    ACCUMULATION,
    /** Batches with numbers that aren't finite. */
    FAILURES,
    /** Truncated backpropagation through time. */
    TRUNCATED,
    /** No minibatch division. */
    NO_MINIBATCH,
    /** No workspaces. */
    NO_WORKSPACES,
    /** The norm of a step's gradients is limited. */
    CLIP_NORM,
    /** The magnitude of each gradient is limited. */
    CLIP_VALUE,
    /** No output layer: errors come from outside, and the updater is called by hand. */
    EXTERNAL_ERRORS,
    /** Settings that the network's configuration carries, through JSON. */
    CARRIED,
    /** A penalty on the norm of the gradient. */
    PENALTY,
    /** Mixed precision that a listener enables when an epoch begins. */
    LISTENER;

    /**
     * Returns the options that can be played together: without an output layer there is no step to accumulate, skip or
     * clip.
     */
    static Set<Option> compatible(Set<Option> chosen) {
        Set<Option> options = EnumSet.noneOf(Option.class);
        options.addAll(chosen);
        if (options.contains(EXTERNAL_ERRORS)) {
            options.removeAll(
                    EnumSet.of(ACCUMULATION, FAILURES, TRUNCATED, CLIP_NORM, CLIP_VALUE, MASKS, PENALTY, LISTENER));
        }
        if (options.contains(PENALTY)) {
            // It's refused for truncated backpropagation, isn't a sum over micro-batches, and draws in another order.
            options.removeAll(EnumSet.of(ACCUMULATION, TRUNCATED, DROPOUT, WEIGHT_NOISE));
        }
        return options;
    }

    /**
     * Returns whether it needs the very steps of stock DL4J: random numbers are drawn in each, and segments are steps.
     */
    boolean needsEqualSteps() {
        return this == DROPOUT || this == WEIGHT_NOISE || this == TRUNCATED;
    }
}
