package org.dl4jamp.network;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.OwnFields;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The common view of a MultiLayerNetwork or a ComputationGraph. */
public sealed interface AmpNetwork permits MultiLayerAmpNetwork, GraphAmpNetwork {
    /**
     * Returns the view of a network.
     *
     * @throws AmpException if it's null or neither of the two kinds
     */
    static AmpNetwork of(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            return new MultiLayerAmpNetwork(network);
        }
        if (model instanceof ComputationGraph graph) {
            return new GraphAmpNetwork(graph);
        }
        throw new AmpException(
                "network: " + (model == null ? "null" : model.getClass().getName())
                        + " can't be trained in mixed precision; give a MultiLayerNetwork or a ComputationGraph");
    }

    /** Returns the network itself. */
    Model model();

    /** Sets the loss that the network reports. */
    void setScore(double score);

    /** Returns what messages call it. */
    default String described() {
        return "the " + model().getClass().getSimpleName() + " of " + model().numParams() + " parameters";
    }

    /** Its layers and vertices as its configuration has them. */
    NetworkGraph graph();

    /** Returns its graph for a plan: the layers that keep state in their class's own fields are marked. */
    default NetworkGraph graphOfInstances() {
        return graph().keepingState(layers().stream()
                .filter(place -> OwnFields.holdState(place.current().get().getClass()))
                .map(Place::name)
                .collect(Collectors.toSet()));
    }

    /** Returns how gradients flow back through time. */
    BackpropType backpropType();

    /** Returns whether {@code init()} has been called. */
    boolean isInitialized();

    /** Returns the names of all nodes of {@link #graph()}, in the order in which the network computes them. */
    List<String> order();

    /** Returns the places of its layers, in the order of {@link #graph()}. */
    List<Place<Layer>> layers();

    /** Returns what casts in the place of a vertex without layer, empty if nothing does. */
    default Optional<BaseGraphVertex> castingVertex(String name) {
        return Optional.empty();
    }

    /** Returns the places of its vertices without layer, network inputs and frozen ones aside. */
    default List<Place<GraphVertex>> vertices() {
        return List.of();
    }

    /** Returns the FP32 gradients of all parameters, in the order of the parameters. Made if need be. */
    default INDArray gradients() {
        if (model().getGradientsViewArray() == null) {
            initGradients();
        }
        return model().getGradientsViewArray();
    }

    /** Makes the array of {@link #gradients()}. */
    void initGradients();

    /** Its listeners, as it has them. The list isn't to be changed: DL4J may be going through it. */
    Collection<TrainingListener> listeners();

    /** Gives it another list of listeners. The one that it had stays as it is. */
    default void setListeners(List<TrainingListener> listeners) {
        HiddenFields.replaceListeners(model(), listeners);
    }

    /** Runs the batch in progress forward and backward. No listener is notified. */
    default void runSilently() {
        HiddenFields.inSilence(model(), () -> {
            model().computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
            return null;
        });
    }

    /**
     * Runs the batch in progress forward as in training, and returns the outputs of layers and vertices by their names,
     * in the order in which they are computed.
     */
    Map<String, INDArray> outputs();

    /**
     * Returns the network's output for features, in inference.
     *
     * @throws AmpException if it has several inputs or outputs
     */
    INDArray output(INDArray features);

    /** Returns the features of the batch in progress; entries may be null. */
    List<INDArray> features();

    /** Returns the updater, null if the network has none at the moment. */
    BaseMultiLayerUpdater<?> updater();

    /** Makes the network use an updater. */
    void setUpdater(BaseMultiLayerUpdater<?> updater);

    /** Returns DL4J's own updater over a state. */
    BaseMultiLayerUpdater<?> plainUpdater(INDArray state);

    /**
     * Returns DL4J's updater over a state, which calls a hook in place of its own update.
     *
     * @param hook makes that of the updater
     */
    BaseMultiLayerUpdater<?> hookedUpdater(INDArray state, Function<HookedUpdater, Consumer<UpdaterCall>> hook);
}
