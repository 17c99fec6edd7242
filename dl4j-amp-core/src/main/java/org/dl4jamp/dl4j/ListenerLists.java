package org.dl4jamp.dl4j;

import java.lang.invoke.VarHandle;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.Solver;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;

/**
 * The lists of listeners that networks and optimizers have. DL4J iterates over its own list when it calls listeners. A
 * change of that list in a listener's call ends in a {@code ConcurrentModificationException}, or skips a listener. So
 * the list is replaced, and the old one stays as it is.
 */
public final class ListenerLists {
    private static final VarHandle OF_LAYERS =
            HiddenFields.field(MultiLayerNetwork.class, "trainingListeners", Collection.class);
    private static final VarHandle OF_GRAPH =
            HiddenFields.field(ComputationGraph.class, "trainingListeners", Collection.class);
    private static final VarHandle OF_OPTIMIZER =
            HiddenFields.field(BaseOptimizer.class, "trainingListeners", Collection.class);
    private static final VarHandle SOLVER_OF_LAYERS =
            HiddenFields.field(MultiLayerNetwork.class, "solver", Solver.class);
    private static final VarHandle SOLVER_OF_GRAPH = HiddenFields.field(ComputationGraph.class, "solver", Solver.class);

    private ListenerLists() {}

    /**
     * Gives a network another list of listeners, and its optimizer, if both have the same one.
     *
     * @param listeners the network's own from now on
     */
    @SuppressWarnings("ReferenceEquality")
    public static void replace(Model network, List<TrainingListener> listeners) {
        Object before = field(network).getAndSet(network, listeners);
        Solver solver =
                (Solver) (network instanceof ComputationGraph ? SOLVER_OF_GRAPH : SOLVER_OF_LAYERS).get(network);
        ConvexOptimizer optimizer = solver == null ? null : solver.getOptimizer();
        if (optimizer instanceof BaseOptimizer && OF_OPTIMIZER.get(optimizer) == before) {
            solver.setListeners(listeners);
        }
    }

    /** Runs work of a network's during which no listener of the network's is called. */
    public static <T> T inSilence(Model network, Supplier<T> work) {
        VarHandle field = field(network);
        Object before = field.getAndSet(network, List.of());
        try {
            return work.get();
        } finally {
            field.set(network, before);
        }
    }

    private static VarHandle field(Model network) {
        return network instanceof ComputationGraph ? OF_GRAPH : OF_LAYERS;
    }
}
