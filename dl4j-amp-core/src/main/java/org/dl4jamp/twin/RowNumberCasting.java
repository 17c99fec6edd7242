package org.dl4jamp.twin;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Casts of a layer whose input may be whole numbers, which aren't cast.
 *
 * @param others casts everything else
 */
record RowNumberCasting(Casting others) implements Casting {
    @Override
    public INDArray cast(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
        boolean whole = array != null && array.dataType().isIntType();
        return whole ? array : others.cast(array, type, workspaceMgr, destination);
    }

    @Override
    public INDArray usualOrder(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
        return others.usualOrder(array, workspaceMgr, destination);
    }

    @Override
    public INDArray leverage(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        return others.leverage(gradient, workspaceMgr);
    }

    @Override
    public INDArray summable(INDArray gradient) {
        return others.summable(gradient);
    }
}
