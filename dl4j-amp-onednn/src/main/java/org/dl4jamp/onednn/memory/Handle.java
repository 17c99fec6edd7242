package org.dl4jamp.onednn.memory;

import org.bytedeco.javacpp.Pointer;

/** A pointer that can be moved, so that binding a buffer makes no object. */
public final class Handle extends Pointer {
    public Handle at(long newAddress) {
        this.address = newAddress;
        return this;
    }
}
