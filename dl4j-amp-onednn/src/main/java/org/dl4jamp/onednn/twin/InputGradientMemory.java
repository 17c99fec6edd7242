package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.array.Layout;
import org.dl4jamp.onednn.array.LentGradients;
import org.dl4jamp.onednn.array.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Where a twin puts the gradient of its input: where DL4J wants it, or in {@link LentGradients}. */
public final class InputGradientMemory {
    /** A twin that may hand back the gradient of its input in {@link LentGradients}. */
    public interface Lender {
        /** Told once, if the layer before it hands the gradient on as it is or reads it for the last time. */
        void lendInputGradient();
    }

    private final OneDnnContext context;
    private boolean lends;

    public InputGradientMemory(OneDnnContext context) {
        this.context = context;
    }

    public void lend() {
        lends = true;
    }

    /** An array with arbitrary content, in channels-last order. */
    public INDArray create(LayerWorkspaceMgr workspaceMgr, DataType type, long... shape) {
        return lends && isHandedBackFromWorkspace(workspaceMgr)
                ? context.lentGradients().lend(this, Layout.channelsLast(type, shape))
                : Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, shape);
    }

    /** Without workspaces nothing is closed too early, and what is only a stop before a cast isn't handed back. */
    private static boolean isHandedBackFromWorkspace(LayerWorkspaceMgr workspaceMgr) {
        return workspaceMgr.hasConfiguration(ArrayType.ACTIVATION_GRAD)
                && !workspaceMgr.isScopedOut(ArrayType.ACTIVATION_GRAD)
                && Workspaces.isSeparate(workspaceMgr, ArrayType.ACTIVATION_GRAD, ArrayType.BP_WORKING_MEM);
    }
}
