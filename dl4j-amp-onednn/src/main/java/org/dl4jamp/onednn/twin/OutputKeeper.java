package org.dl4jamp.onednn.twin;

/** A twin that may read its output again in the backward pass, if it's unchanged. */
public interface OutputKeeper {
    /** Marks the output as unchanged until the backward pass; called at most once. */
    void outputStays();
}
