package org.dl4jamp.spark;

import org.apache.spark.TaskContext;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.spark.api.TrainingHook;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** Ends the first attempt of the second task of each split with an exception, after a number of steps. */
final class FailingOnce implements TrainingHook {
    private static final long serialVersionUID = 1L;
    private final int after;
    private int steps;

    FailingOnce(int after) {
        this.after = after;
    }

    @Override
    public void preUpdate(DataSet minibatch, Model model) {}

    @Override
    public void preUpdate(MultiDataSet minibatch, Model model) {}

    @Override
    public void postUpdate(DataSet minibatch, Model model) {
        stepDone();
    }

    @Override
    public void postUpdate(MultiDataSet minibatch, Model model) {
        stepDone();
    }

    private void stepDone() {
        TaskContext task = TaskContext.get();
        if (++steps == after && task.partitionId() == 1 && task.attemptNumber() == 0) {
            throw new IllegalStateException("fails on purpose");
        }
    }
}
