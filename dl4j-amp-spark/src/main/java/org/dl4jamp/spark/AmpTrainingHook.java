package org.dl4jamp.spark;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.util.List;
import org.apache.spark.TaskContext;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.spark.api.TrainingHook;
import org.dl4jamp.AmpException;
import org.dl4jamp.MixedPrecision;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/**
 * Mixed precision in every task of parameter averaging, from its first iteration. Each split's tasks are a Spark job of their own, for which Spark serializes this hook again: then it takes along where
 * training is. What is serialized for a stage that is run again begins where that stage began.
 */
final class AmpTrainingHook implements TrainingHook {
    private static final long serialVersionUID = 1L;

    private final TaskReports reports;
    private List<StageEnd> ends;

    AmpTrainingHook(TaskReports reports) {
        this.reports = reports;
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        Ledger ledger = reports.ledger();
        synchronized (this) {
            if (ledger != null) {
                ends = List.copyOf(ledger.ends());
            }
            out.defaultWriteObject();
        }
    }

    private void begin(Model model) {
        TaskContext task = TaskContext.get();
        if (task == null) {
            throw new AmpException(
                    "The hook of SparkAmp is called outside of a Spark task, by a training master of another kind or by hand."
                            + " It's for ParameterAveragingTrainingMaster.Builder.trainingHooks; on one machine call MixedPrecision.enable(net) in its place");
        }
        if (MixedPrecision.of(model).isEmpty()) {
            TaskAmp.begin(model, task, ends, reports);
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
