package org.dl4jamp.spark;

import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.spark.api.TrainingHook;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** Counts minibatches without dl4j-amp. */
final class CountingSteps implements TrainingHook {
    private static final long serialVersionUID = 1L;
    private final LongAccumulator steps;

    CountingSteps(JavaSparkContext context) {
        steps = context.sc().longAccumulator();
    }

    long steps() {
        return steps.sum();
    }

    @Override
    public void preUpdate(DataSet minibatch, Model model) {}

    @Override
    public void preUpdate(MultiDataSet minibatch, Model model) {}

    @Override
    public void postUpdate(DataSet minibatch, Model model) {
        steps.add(1);
    }

    @Override
    public void postUpdate(MultiDataSet minibatch, Model model) {
        steps.add(1);
    }
}
