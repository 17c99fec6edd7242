package org.dl4jamp.onednn.memory;

import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The place in {@link ActivationMemory} where a layer writes its result in inference.
 *
 * @param memory of the network's activations
 * @param number of the place
 * @param reordered whether DL4J's own code reads the result, for which it's copied to order {@code c}
 */
public record ResultPlace(ActivationMemory memory, int number, boolean reordered) {
    /** Returns an array for the result, its channels as the second axis and last in memory. */
    public INDArray channelsLast(DataType type, LayerWorkspaceMgr workspaceMgr, long... shape) {
        Layout layout = Layout.channelsLast(type, shape);
        if (!reordered) {
            return memory.array(number, layout, workspaceMgr);
        }
        Layout dense = Layout.dense(type, shape);
        return dense.isSameMemory(layout)
                ? memory.array(number, dense, workspaceMgr)
                : memory.passing(layout, workspaceMgr);
    }

    /** Returns an array for a copy of the result in order {@code c}. */
    public INDArray dense(DataType type, LayerWorkspaceMgr workspaceMgr, long... shape) {
        return memory.array(number, Layout.dense(type, shape), workspaceMgr);
    }
}
