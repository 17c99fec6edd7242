package org.dl4jamp.parallel;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A trainer whose replica shares its gradients, as with DL4J's {@code SymmetricTrainer}. */
final class SharingTrainer extends ReplicaTrainer {
    private static final Logger LOG = LoggerFactory.getLogger(SharingTrainer.class);

    /** As averaging frequency. */
    private static final int NEVER = 0;

    private final GradientsAccumulator accumulator;
    private GradientsAccumulator ofSource;

    SharingTrainer(
            Model source,
            String uuid,
            int index,
            WorkspaceMode mode,
            ParallelWrapper wrapper,
            boolean multiDataSets,
            ReplicaTurn turn) {
        super(source, uuid, index, mode, wrapper, multiDataSets, NEVER, turn);
        this.accumulator = wrapper.getGradientsAccumulator();
    }

    @Override
    void connect() {
        if (threadId == 0) {
            ofSource = originalModel.getOptimizer().getGradientsAccumulator();
        }
        if (replicatedModel instanceof ComputationGraph graph) {
            graph.setGradientsAccumulator(accumulator);
        } else {
            ((MultiLayerNetwork) replicatedModel).setGradientsAccumulator(accumulator);
        }
        accumulator.touch();
    }

    @Override
    public boolean averagingRequired() {
        super.averagingRequired();
        return false;
    }

    @Override
    void train() {
        try {
            super.train();
        } finally {
            if (threadId == 0) {
                giveSourceItsAccumulator();
            }
        }
    }

    /**
     * DL4J leaves the wrapper's accumulator in a source that is a graph, whose own fit would wait for replicas for
     * ever.
     */
    private void giveSourceItsAccumulator() {
        if (originalModel instanceof ComputationGraph graph
                && graph.getOptimizer().getGradientsAccumulator() == accumulator) {
            graph.setGradientsAccumulator(ofSource);
        }
    }

    /** The accumulator releases those that wait for an update only when it gets one that it can't add. */
    @Override
    void releaseOthers() {
        try {
            accumulator.storeUpdate(null, 0, 0);
        } catch (RuntimeException thrownToOthersToo) {
            LOG.debug("Replicas that wait for this one's gradients are told that it has failed", thrownToOthersToo);
        }
    }
}
