package org.dl4jamp.parallel;

import java.util.Collection;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.trainer.DefaultTrainer;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** DL4J's trainer, with a replica in mixed precision. The wrapper averages the replicas' parameters. */
class ReplicaTrainer extends DefaultTrainer {
    private final ReplicaTurn turn;

    ReplicaTrainer(
            Model source,
            String uuid,
            int index,
            WorkspaceMode mode,
            ParallelWrapper wrapper,
            boolean multiDataSets,
            int averagingFrequency,
            ReplicaTurn turn) {
        this.originalModel = source;
        this.uuid = uuid + "_thread_" + index;
        this.threadId = index;
        this.workspaceMode = mode;
        this.parallelWrapper = wrapper;
        this.useMDS = multiDataSets;
        this.averagingFrequency = averagingFrequency;
        this.turn = turn;
        // DL4J makes the queues at their first use, in the trainer's thread or in that of fit, whichever is first.
        setupIfNeccessary();
    }

    @Override
    protected void postInit() {
        super.postInit();
        connect();
        turn.begin(replicatedModel);
    }

    /** Connects the replica, before mixed precision is enabled on it, with the others. */
    void connect() {}

    @Override
    protected void configureListeners(
            String worker, Collection<TrainingListener> ofWrapper, Collection<TrainingListener> ofReplica) {
        super.configureListeners(worker, turn.ofReplica(ofWrapper), ofReplica);
    }

    @Override
    public final void run() {
        turn.run(this::train, () -> thrownException, this::releaseOthers);
    }

    /** Trains the replica until the wrapper stops it. */
    // DL4J has a thread of its own run its trainers, which are threads only by their class.
    @SuppressWarnings("DoNotCall")
    void train() {
        super.run();
    }

    /** Called when the replica has failed: releases others that wait for it. */
    void releaseOthers() {}

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
