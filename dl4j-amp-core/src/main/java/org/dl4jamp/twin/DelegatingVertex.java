package org.dl4jamp.twin;

import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The wrapper of a graph's vertex: delegates to it what a subclass doesn't do itself. */
public abstract class DelegatingVertex implements GraphVertex, Substitute<GraphVertex> {
    private static final long serialVersionUID = 1L;

    private final GraphVertex master;

    protected DelegatingVertex(GraphVertex master) {
        this.master = master;
    }

    /** Returns the graph's own vertex. */
    @Override
    public final GraphVertex master() {
        return master;
    }

    @Override
    public final GraphVertex computing() {
        return master;
    }

    @Override
    public final GraphVertex informedMaster() {
        return master;
    }

    @Override
    public Pair<Gradient, INDArray[]> doBackward(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        return master.doBackward(tbptt, workspaceMgr);
    }

    @Override
    public String getVertexName() {
        return master.getVertexName();
    }

    @Override
    public int getVertexIndex() {
        return master.getVertexIndex();
    }

    @Override
    public int getNumInputArrays() {
        return master.getNumInputArrays();
    }

    @Override
    public int getNumOutputConnections() {
        return master.getNumOutputConnections();
    }

    @Override
    public VertexIndices[] getInputVertices() {
        return master.getInputVertices();
    }

    @Override
    public void setInputVertices(VertexIndices[] inputVertices) {
        master.setInputVertices(inputVertices);
    }

    @Override
    public VertexIndices[] getOutputVertices() {
        return master.getOutputVertices();
    }

    @Override
    public void setOutputVertices(VertexIndices[] outputVertices) {
        master.setOutputVertices(outputVertices);
    }

    @Override
    public boolean hasLayer() {
        return master.hasLayer();
    }

    @Override
    public boolean isInputVertex() {
        return master.isInputVertex();
    }

    @Override
    public boolean isOutputVertex() {
        return master.isOutputVertex();
    }

    @Override
    public void setOutputVertex(boolean outputVertex) {
        master.setOutputVertex(outputVertex);
    }

    @Override
    public Layer getLayer() {
        return master.getLayer();
    }

    @Override
    public void setInput(int inputNumber, INDArray input, LayerWorkspaceMgr workspaceMgr) {
        master.setInput(inputNumber, input, workspaceMgr);
    }

    @Override
    public void setEpsilon(INDArray epsilon) {
        master.setEpsilon(epsilon);
    }

    @Override
    public void clear() {
        master.clear();
    }

    @Override
    public boolean canDoForward() {
        return master.canDoForward();
    }

    @Override
    public boolean canDoBackward() {
        return master.canDoBackward();
    }

    @Override
    public INDArray doForward(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return master.doForward(training, workspaceMgr);
    }

    @Override
    public INDArray[] getInputs() {
        return master.getInputs();
    }

    @Override
    public INDArray getEpsilon() {
        return master.getEpsilon();
    }

    @Override
    public void setInputs(INDArray... inputs) {
        master.setInputs(inputs);
    }

    @Override
    public void setBackpropGradientsViewArray(INDArray backpropGradientsViewArray) {
        master.setBackpropGradientsViewArray(backpropGradientsViewArray);
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArrays(
            INDArray[] maskArrays, MaskState currentMaskState, int minibatchSize) {
        return master.feedForwardMaskArrays(maskArrays, currentMaskState, minibatchSize);
    }

    @Override
    public void setLayerAsFrozen() {
        master.setLayerAsFrozen();
    }

    @Override
    public void clearVertex() {
        master.clearVertex();
    }

    @Override
    public Map<String, INDArray> paramTable(boolean backpropOnly) {
        return master.paramTable(backpropOnly);
    }

    @Override
    public TrainingConfig getConfig() {
        return master.getConfig();
    }

    @Override
    public long numParams() {
        return master.numParams();
    }

    @Override
    public INDArray params() {
        return master.params();
    }

    @Override
    public boolean updaterDivideByMinibatch(String paramName) {
        return master.updaterDivideByMinibatch(paramName);
    }

    @Override
    public INDArray getGradientsViewArray() {
        return master.getGradientsViewArray();
    }
}
