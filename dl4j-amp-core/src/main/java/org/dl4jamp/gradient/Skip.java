package org.dl4jamp.gradient;

import java.util.Optional;

/**
 * Why a step is left out.
 *
 * @param cause what isn't to be trusted
 * @param what a sentence without its end
 * @param first the parameter whose gradient was the first not to be finite, as far as that's known
 */
public record Skip(Cause cause, String what, Optional<String> first) {
    /** Where infinities or NaN come from. */
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
    public boolean overflow() {
        return cause == Cause.OVERFLOW;
    }
}
