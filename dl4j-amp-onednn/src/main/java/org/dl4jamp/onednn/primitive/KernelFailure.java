package org.dl4jamp.onednn.primitive;

import org.dl4jamp.twin.RefusedShape;

/** Thrown if oneDNN makes no primitive of a kind and shape: the pass is left to DL4J's own code. */
public final class KernelFailure extends RefusedShape {
    private static final long serialVersionUID = 1L;

    /** @param what layer, primitive and shapes */
    KernelFailure(String what, RuntimeException cause) {
        super("oneDNN can't make " + what + ": " + cause.getMessage(), cause);
    }
}
