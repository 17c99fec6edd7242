package org.dl4jamp.onednn.twin;

/** A twin that may read its output again in the backward pass, if it's unchanged. */
public interface OutputKeeper {
    /** Called once, if no other code writes into the output before the backward pass. */
    void outputStays();
}
