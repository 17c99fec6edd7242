package org.dl4jamp.spark;

import org.apache.spark.TaskContext;
import org.deeplearning4j.nn.api.Model;

/** Ends the first attempt of the second task of each split with an exception, after a number of steps. */
final class FailingOnce implements AfterEachStep {
    private static final long serialVersionUID = 1L;
    private final int after;
    private int steps;

    FailingOnce(int after) {
        this.after = after;
    }

    @Override
    public void stepDone(Model model) {
        TaskContext task = TaskContext.get();
        if (++steps == after && task.partitionId() == 1 && task.attemptNumber() == 0) {
            throw new IllegalStateException("fails on purpose");
        }
    }
}
