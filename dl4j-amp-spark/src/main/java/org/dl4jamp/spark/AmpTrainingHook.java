package org.dl4jamp.spark;

import org.apache.spark.TaskContext;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.spark.api.TrainingHook;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/**
 * Mixed precision in every task of parameter averaging, from its first iteration. Each split's tasks are a Spark job of
 * their own, for which Spark serializes this hook again.
 */
final class AmpTrainingHook implements TrainingHook {
    private static final long serialVersionUID = 1L;

    private final TrainingSoFar training;

    AmpTrainingHook(TrainingSoFar training) {
        this.training = training;
    }

    private void begin(Model model) {
        TaskContext task = TaskContext.get();
        if (task == null) {
            throw new AmpException(
                    "The hook of SparkAmp is called outside of a Spark task, by a training master of another kind or"
                            + " by hand."
                            + " It's for ParameterAveragingTrainingMaster.Builder.trainingHooks; on one machine call"
                            + " MixedPrecision.enable(net) in its place");
        }
        if (MixedPrecision.of(model).isEmpty()) {
            TaskAmp.begin(model, task, training);
        }
    }

    @Override
    public void preUpdate(DataSet minibatch, Model model) {
        begin(model);
    }

    @Override
    public void preUpdate(MultiDataSet minibatch, Model model) {
        begin(model);
    }

    @Override
    public void postUpdate(DataSet minibatch, Model model) {}

    @Override
    public void postUpdate(MultiDataSet minibatch, Model model) {}
}
