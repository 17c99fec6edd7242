package org.dl4jamp.onednn.twin;

/** A twin that may read its output again in the backward pass, if nobody changes it in between. */
public interface OutputKeeper {
    /** Told once, if nobody writes into the output before the backward pass. */
    void outputStays();
}
