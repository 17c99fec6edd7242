package org.dl4jamp.twin;

import org.dl4jamp.precision.AmpException;

/**
 * Thrown by a twin if the library beneath has no kernel for the shape of its input. The twin has no state of the pass
 * then, so that DL4J's own code can compute it.
 */
public final class RefusedShape extends AmpException {
    private static final long serialVersionUID = 1L;

    /** @param cause the library's reason */
    public RefusedShape(AmpException cause) {
        super(cause.getMessage(), cause);
    }
}
