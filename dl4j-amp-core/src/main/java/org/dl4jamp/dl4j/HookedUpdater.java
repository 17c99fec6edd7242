package org.dl4jamp.dl4j;

import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An updater of DL4J's that leaves what it's called for to a hook. DL4J's optimizer calls its updater's class, not an
 * interface, so what a network has must be a subclass of one or the other.
 */
public sealed interface HookedUpdater {
    /** Returns what is done in place of DL4J's update, which is {@link #updateAsDl4j}. */
    Consumer<UpdaterCall> hook();

    /** Runs DL4J's own update. */
    void updateAsDl4j(UpdaterCall call);

    /** Returns this updater as DL4J's type. */
    default BaseMultiLayerUpdater<?> plain() {
        return (BaseMultiLayerUpdater<?>) this;
    }

    /** Returns the hook of an updater; empty if it's null or none of these. */
    static Optional<Consumer<UpdaterCall>> hookOf(BaseMultiLayerUpdater<?> updater) {
        return updater instanceof HookedUpdater hooked ? Optional.of(hooked.hook()) : Optional.empty();
    }

    /** The updater of a MultiLayerNetwork. */
    final class OfLayers extends MultiLayerUpdater implements HookedUpdater {
        private static final long serialVersionUID = 1L;

        private final transient Consumer<UpdaterCall> hook;

        /**
         * @param state the updater's state, used as it is; null for updaters without
         * @param hook makes the hook of this updater
         */
        public OfLayers(
                MultiLayerNetwork network, INDArray state, Function<HookedUpdater, Consumer<UpdaterCall>> hook) {
            super(network, state);
            this.hook = hook.apply(this);
            // DL4J makes it when it first divides by the minibatch, which may be the hook's doing.
            gradientsForMinibatchDivision = getMinibatchDivisionSubsets(getFlattenedGradientsView());
            initializedMinibatchDivision = true;
        }

        @Override
        public Consumer<UpdaterCall> hook() {
            return hook;
        }

        @Override
        public void updateAsDl4j(UpdaterCall call) {
            super.update(call.gradient(), call.iteration(), call.epoch(), call.examples(), call.workspaceMgr());
        }

        @Override
        public synchronized void update(
                Gradient gradient, int iteration, int epoch, int batchSize, LayerWorkspaceMgr workspaceMgr) {
            hook.accept(new UpdaterCall(gradient, iteration, epoch, batchSize, workspaceMgr));
        }
    }

    /** The updater of a ComputationGraph. */
    final class OfGraph extends ComputationGraphUpdater implements HookedUpdater {
        private static final long serialVersionUID = 1L;

        private final transient Consumer<UpdaterCall> hook;

        /** Takes what {@link OfLayers} takes. */
        public OfGraph(ComputationGraph graph, INDArray state, Function<HookedUpdater, Consumer<UpdaterCall>> hook) {
            super(graph, state);
            this.hook = hook.apply(this);
            gradientsForMinibatchDivision = getMinibatchDivisionSubsets(getFlattenedGradientsView());
            initializedMinibatchDivision = true;
        }

        @Override
        public Consumer<UpdaterCall> hook() {
            return hook;
        }

        @Override
        public void updateAsDl4j(UpdaterCall call) {
            super.update(call.gradient(), call.iteration(), call.epoch(), call.examples(), call.workspaceMgr());
        }

        @Override
        public synchronized void update(
                Gradient gradient, int iteration, int epoch, int batchSize, LayerWorkspaceMgr workspaceMgr) {
            hook.accept(new UpdaterCall(gradient, iteration, epoch, batchSize, workspaceMgr));
        }
    }
}
