package org.dl4jamp.twin;

import org.dl4jamp.precision.AmpException;

/**
 * Thrown by a twin's pass if the library beneath has no kernel for the shape of its input. DL4J's own layer or vertex
 * then computes in its place: the twin may have drawn dropout and noise by then, and nothing else.
 */
public class RefusedShape extends AmpException {
    private static final long serialVersionUID = 1L;

    /** @param cause the library's own exception; null for none */
    public RefusedShape(String message, Throwable cause) {
        super(message, cause);
    }
}
