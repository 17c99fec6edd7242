package org.dl4jamp.onednn.primitive;

import java.util.function.IntPredicate;

/** The shared state of twins with a oneDNN that makes no primitive of some of those that may be left to DL4J. */
public final class RefusingContext extends OneDnnContext {
    private final IntPredicate refuses;
    private int asked;

    /** @param refuses tells by the number of kernels that were asked for before */
    public RefusingContext(boolean infers, IntPredicate refuses) {
        super(infers);
        this.refuses = refuses;
    }

    /** Returns how many kernels were asked for in passes that DL4J could compute as well. */
    public int asked() {
        return asked;
    }

    @Override
    void beforeKernel() {
        boolean maybeLeft = StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().equals("leavingToDl4j")));
        if (maybeLeft && refuses.test(asked++)) {
            throw new IllegalArgumentException("no such primitive");
        }
    }
}
