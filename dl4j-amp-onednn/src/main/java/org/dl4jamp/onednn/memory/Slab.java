package org.dl4jamp.onednn.memory;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** A part of a contiguous array, from an offset on. */
public record Slab(INDArray array, long offset) {
    public static Slab of(INDArray array) {
        return new Slab(array, 0);
    }

    /** Returns the part that begins some numbers later. */
    public Slab plus(long numbers) {
        return new Slab(array, offset + numbers);
    }

    public Place place() {
        int width = array.dataType().width();
        return new Place(array, Workspaces.address(array) + offset * width, (array.length() - offset) * width);
    }

    /** Returns whether it begins where another does. */
    public boolean beginsAt(Slab other) {
        return place().address() == other.place().address();
    }

    /** Returns the same memory as an array of its own, with one axis. */
    public INDArray vector(long length) {
        return array.reshape(array.length()).get(NDArrayIndex.interval(offset, offset + length));
    }
}
