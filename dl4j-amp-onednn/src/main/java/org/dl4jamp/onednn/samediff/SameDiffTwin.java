package org.dl4jamp.onednn.samediff;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** DL4J's layer of SameDiff operations, which finds sessions of this engine in its graph. */
final class SameDiffTwin extends SameDiffLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;

    SameDiffTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        input = context.copies().dense(input, workspaceMgr, ArrayType.FF_WORKING_MEM);
        try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
            if (sameDiff == null) {
                doInit();
            }
            multiplyIn(sameDiff);
        }
        return super.activate(training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        input = context.copies().dense(input, workspaceMgr, ArrayType.BP_WORKING_MEM);
        try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
            if (sameDiff == null) {
                doInit();
            }
            if (!sameDiff.hasGradientFunction()) {
                sameDiff.createGradFunction(INPUT_KEY);
            }
            multiplyIn(sameDiff.getFunction("grad"));
        }
        INDArray above = context.copies().dense(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        Pair<Gradient, INDArray> result = super.backpropGradient(above, workspaceMgr);
        context.lentGradients().giveBack(epsilon);
        return result;
    }

    /** SameDiff looks for the session of its thread, and makes one if there is none. */
    private void multiplyIn(SameDiff graph) {
        graph.getSessions()
                .computeIfAbsent(Thread.currentThread().getId(), thread -> new ProductSession(graph, context));
    }

    @Override
    public void close() {
        sameDiff = null;
    }
}
