package org.dl4jamp.scale;

import java.util.Optional;

/**
 * The reason to skip a step.
 *
 * @param cause the source of the numbers that aren't finite
 * @param what a sentence without its end
 * @param first the parameter whose gradient was the first not to be finite, if it was found
 */
public record Skip(Cause cause, String what, Optional<String> first) {
    /** The source of infinities or NaN. */
    public enum Cause {
        /** Features or labels. */
        BATCH,
        /** The loss of finite features and labels. */
        LOSS,
        /** Gradients of a finite loss, which was scaled. */
        OVERFLOW,
        /** A pass that wasn't scaled. */
        UNSCALED
    }

    /** Returns whether the loss scale was too large. */
    public boolean isOverflow() {
        return cause == Cause.OVERFLOW;
    }
}
