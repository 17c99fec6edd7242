package org.dl4jamp.onednn.primitive;

import java.util.function.IntPredicate;

/** The shared state of twins with a oneDNN that makes no primitive of some of those it's asked for. */
public final class RefusingContext extends OneDnnContext {
    private final IntPredicate refuses;
    private int asked;

    /** @param refuses tells by the number of kernels that were asked for before */
    public RefusingContext(boolean infers, IntPredicate refuses) {
        super(infers);
        this.refuses = refuses;
    }

    /** Returns how many kernels were asked for. */
    public int asked() {
        return asked;
    }

    @Override
    void beforeKernel() {
        if (refuses.test(asked++)) {
            throw new IllegalArgumentException("no such primitive");
        }
    }
}
