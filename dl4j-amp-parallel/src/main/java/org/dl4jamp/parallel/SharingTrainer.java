package org.dl4jamp.parallel;

import java.util.Collection;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.trainer.SymmetricTrainer;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** DL4J's trainer for shared gradients, with a replica in mixed precision. */
final class SharingTrainer extends SymmetricTrainer {
    private static final Logger LOG = LoggerFactory.getLogger(SharingTrainer.class);

    private final ReplicaTurn turn;
    private GradientsAccumulator ofSource;

    SharingTrainer(
            Model source,
            String uuid,
            int index,
            WorkspaceMode mode,
            ParallelWrapper wrapper,
            boolean multiDataSets,
            ReplicaTurn turn) {
        super(source, uuid, index, mode, wrapper, multiDataSets);
        this.turn = turn;
        // DL4J makes the queues at their first use, in the trainer's thread or in that of fit, whichever is first.
        setupIfNeccessary();
    }

    @Override
    protected void postInit() {
        if (threadId == 0) {
            ofSource = originalModel.getOptimizer().getGradientsAccumulator();
        }
        super.postInit();
        turn.begin(replicatedModel);
    }

    @Override
    protected void configureListeners(
            String worker, Collection<TrainingListener> ofWrapper, Collection<TrainingListener> ofReplica) {
        super.configureListeners(worker, turn.ofReplica(ofWrapper), ofReplica);
    }

    @Override
    public void run() {
        turn.run(this::train, () -> thrownException, this::releaseOthers);
    }

    // DL4J has a thread of its own run its trainers, which are threads only by their class.
    @SuppressWarnings("DoNotCall")
    private void train() {
        try {
            super.run();
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

    /**
     * Releases the others, which wait for this replica's update, for ever. The accumulator only does so when it gets an
     * update that it can't add.
     */
    private void releaseOthers() {
        try {
            accumulator.storeUpdate(null, 0, 0);
        } catch (RuntimeException thrownToOthersToo) {
            LOG.debug("Replicas that wait for this one's gradients are told that it has failed", thrownToOthersToo);
        }
    }

    @Override
    public void feedDataSet(DataSet dataSet, long etlTime) {
        lastEtlTime.set(etlTime);
        turn.feed(queue, dataSet, running);
    }

    @Override
    public void feedMultiDataSet(MultiDataSet dataSet, long etlTime) {
        lastEtlTime.set(etlTime);
        turn.feed(queueMDS, dataSet, running);
    }

    @Override
    public void waitTillRunning() {
        turn.awaitIdle(running);
    }

    @Override
    public boolean averagingRequired() {
        turn.roundEnds();
        return super.averagingRequired();
    }

    @Override
    public void shutdown() {
        shouldStop.set(true);
        turn.awaitEnd();
    }
}
