package org.dl4jamp.onednn;

import org.bytedeco.javacpp.Pointer;

/** A pointer that can be moved, so that binding a buffer makes no object. */
final class Handle extends Pointer {
    Handle at(long newAddress) {
        this.address = newAddress;
        return this;
    }
}
