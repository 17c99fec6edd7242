package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Casting;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Casts to arrays with their channels last in memory, of any type: for twins that read them in this order in FP32, too.
 *
 * @param context copies the arrays
 */
public record ChannelsLastCasting(OneDnnContext context) implements Casting {
    @Override
    public INDArray cast(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
        if (array == null || array.dataType() == type) {
            return array;
        }
        return Layout.isReadable(array) && Layout.isKnown(type)
                ? context.copies().channelsLast(array, type, workspaceMgr, destination)
                : Casting.ND4J.cast(array, type, workspaceMgr, destination);
    }
}
