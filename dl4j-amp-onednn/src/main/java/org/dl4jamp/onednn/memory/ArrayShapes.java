package org.dl4jamp.onednn.memory;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.shape.Shape;
import org.nd4j.linalg.cpu.nativecpu.NDArray;
import org.nd4j.linalg.cpu.nativecpu.buffer.LongBuffer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Arrays over numbers that are there already. ND4J keeps a description of each array's shape in native memory and makes
 * a new one for each, which takes longer than all else. No one ever changes a description, so that here arrays of one
 * layout share one.
 */
final class ArrayShapes {
    /** More layouts than a step has: beyond that they change with every batch, and descriptions are made anew. */
    private static final int MOST = 4096;

    private static final Map<Layout, Description> DESCRIPTIONS = new ConcurrentHashMap<>();

    private ArrayShapes() {}

    private static final class Description {
        private final LongBuffer ofNativeCode;
        private final long[] ofJava;

        Description(INDArray array) {
            this.ofNativeCode = (LongBuffer) array.shapeInfoDataBuffer();
            this.ofJava = array.shapeInfoJava();
        }

        INDArray array(DataBuffer numbers) {
            return new NDArray(numbers, ofNativeCode, ofJava);
        }
    }

    /** Returns an array of numbers, of all of them and no others. */
    static INDArray array(DataBuffer numbers, Layout layout) {
        Description known = DESCRIPTIONS.get(layout);
        if (known != null) {
            return known.array(numbers);
        }
        long[] shape = layout.shape();
        long[] strides = layout.strides();
        INDArray first = Nd4j.create(numbers, shape, strides, 0, Shape.getOrder(shape, strides, 1), layout.type());
        if (DESCRIPTIONS.size() >= MOST) {
            DESCRIPTIONS.clear();
        }
        DESCRIPTIONS.put(layout, new Description(first));
        return first;
    }
}
