package org.dl4jamp.inference;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Passes without DL4J's loop over layers: all layers but the last one are repeated, and the last one is called. The
 * loop takes up to a quarter of the time of a small network.
 */
public final class DirectOutput {
    private final Repetition layers;
    private final boolean takesRows;
    private final boolean lastTakesRows;
    private final TwinLayer last;

    /**
     * @param layers that are repeated
     * @param nodes of a network that {@link #suits}
     * @param last the last one's wrapper
     */
    public DirectOutput(Repetition layers, List<NetworkGraph.Node> nodes, TwinLayer last) {
        this.layers = layers;
        this.takesRows = nodes.get(1).preProcessor() != null;
        this.lastTakesRows = nodes.get(nodes.size() - 1).preProcessor() != null;
        this.last = last;
    }

    /**
     * Returns whether passes of a network go without the loop: it has one input, and all layers and vertices but the
     * last layer are repeated.
     *
     * @param nodes of the network, in the order in which it computes
     * @param repeated names of those that are repeated
     */
    public static boolean suits(List<NetworkGraph.Node> nodes, List<String> repeated) {
        int end = nodes.size() - 1;
        NetworkGraph.Node last = nodes.get(end);
        List<String> between =
                nodes.subList(1, end).stream().map(NetworkGraph.Node::name).toList();
        return nodes.get(0).networkInput()
                && between.equals(repeated)
                && last.inputs().equals(between.subList(end - 2, end - 1))
                && nodes.stream()
                        .filter(NetworkGraph.Node::networkOutput)
                        .toList()
                        .equals(List.of(last))
                && isRows(nodes.get(1).preProcessor())
                && keepsNumbers(last.preProcessor());
    }

    private static boolean isRows(InputPreProcessor preProcessor) {
        return preProcessor == null || preProcessor.getClass() == FeedForwardToCnnPreProcessor.class;
    }

    /** Returns whether nothing but the shape of a layer's input is changed before the layer. */
    public static boolean keepsNumbers(InputPreProcessor preProcessor) {
        return preProcessor == null || preProcessor.getClass() == CnnToFeedForwardPreProcessor.class;
    }

    /**
     * Returns the network's output for features, outside of workspaces. Empty if DL4J has to go through the layers this
     * time; nothing has been computed then.
     */
    public Optional<INDArray> of(INDArray features) {
        try (Gate.Inside inside = last.guard().gate().enter()) {
            return layers.output(features, takesRows).map(this::finish);
        }
    }

    private INDArray finish(INDArray handed) {
        LayerWorkspaceMgr workspaceMgr = LayerWorkspaceMgr.noWorkspaces();
        if (handed.isAttached()) {
            // It's read where it is: the engine's memory stays.
            workspaceMgr.setNoLeverageOverride(
                    handed.data().getParentWorkspace().getId());
        }
        // DL4J's preprocessor copies images of one position, though they are rows in memory already.
        INDArray given = lastTakesRows ? handed.reshape('c', handed.size(0), handed.length() / handed.size(0)) : handed;
        try {
            return last.activate(given, false, workspaceMgr);
        } finally {
            last.clear();
        }
    }
}
