package org.dl4jamp.layer;

import java.util.Map;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.DelegatingVertex;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The wrapper of a vertex that has parameters, such as attention: takes the loss scale out of their gradients. An
 * engine's vertex may compute in place of the graph's own.
 */
public final class UnscalingVertex extends DelegatingVertex {
    private static final long serialVersionUID = 1L;

    private final transient GraphVertex computing;
    private final transient GradientScale gradientScale;

    private transient Map<String, INDArray> gradients = Map.of();

    /**
     * @param computing reads inputs, masks and the output's gradient from the graph's own vertex; may be that vertex
     */
    public UnscalingVertex(GraphVertex master, GraphVertex computing, GradientScale gradientScale) {
        super(master);
        this.computing = computing;
        this.gradientScale = gradientScale;
    }

    /**
     * Returns the parameters' gradients of the last backward pass, by name. DL4J's SameDiff vertices have no getter for
     * their gradient view.
     */
    public Map<String, INDArray> gradients() {
        return gradients;
    }

    @Override
    public INDArray doForward(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return computing.doForward(training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray[]> doBackward(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        Pair<Gradient, INDArray[]> result = computing.doBackward(tbptt, workspaceMgr);
        gradients = result.getFirst().gradientForVariable();
        if (gradientScale.factor() != 1) {
            gradients.values().forEach(gradient -> gradient.muli(1 / gradientScale.factor()));
        }
        return result;
    }

    @Override
    public void clear() {
        computing.clear();
    }
}
