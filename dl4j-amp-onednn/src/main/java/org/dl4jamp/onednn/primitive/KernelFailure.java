package org.dl4jamp.onednn.primitive;

import java.util.function.Supplier;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.RefusedShape;

/** Thrown if oneDNN makes no primitive of a kind and shape. */
public final class KernelFailure extends AmpException {
    private static final long serialVersionUID = 1L;

    /** @param what layer, primitive and shapes */
    KernelFailure(String what, RuntimeException cause) {
        super("oneDNN can't make " + what + ": " + cause.getMessage(), cause);
    }

    /**
     * Runs a pass that DL4J's own code can compute as well. It may have written to the memory for its results, but
     * mustn't have changed the state of its layer.
     *
     * @throws RefusedShape if oneDNN doesn't make one of its kernels
     */
    public static <T> T leavingToDl4j(Supplier<T> pass) {
        try {
            return pass.get();
        } catch (KernelFailure e) {
            throw new RefusedShape(e);
        }
    }
}
