package org.dl4jamp.layer;

import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.DelegatingVertex;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The wrapper of a vertex over HALF inputs that combines them with its gradient, as a product does. The gradient is
 * FLOAT outside of steps, and DL4J doesn't broadcast arrays of one type into those of another. There the vertex is
 * given its inputs in FLOAT.
 */
public final class FloatBackwardVertex extends DelegatingVertex {
    private static final long serialVersionUID = 1L;

    public FloatBackwardVertex(GraphVertex master) {
        super(master);
    }

    @Override
    public Pair<Gradient, INDArray[]> doBackward(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        INDArray epsilon = getEpsilon();
        INDArray[] inputs = getInputs();
        if (!canDoBackward() || epsilon.dataType() != DataType.FLOAT) {
            return super.doBackward(tbptt, workspaceMgr);
        }
        INDArray[] inFloat = new INDArray[inputs.length];
        for (int i = 0; i < inputs.length; i++) {
            inFloat[i] = Casting.ND4J.cast(inputs[i], DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        }
        setInputs(inFloat);
        try {
            return super.doBackward(tbptt, workspaceMgr);
        } finally {
            setInputs(inputs);
        }
    }
}
