package org.dl4jamp.benchmarks.cases;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Task;
import org.nd4j.linalg.dataset.DataSet;

/**
 * A recurrent network that is given its sequences one time step at a time, as when each next input depends on the
 * output. A pass is a whole sequence, from a state of zeros. Inference only.
 *
 * @param name of the case
 * @param sequences the case that is given them at once
 */
public record TimeStepsCase(String name, BenchmarkCase sequences) implements BenchmarkCase {
    @Override
    public String description() {
        return sequences.description() + ", one time step at a time";
    }

    @Override
    public String updater() {
        return sequences.updater();
    }

    @Override
    public NeuralNetwork network() {
        return sequences.network();
    }

    @Override
    public DataSet batch() {
        return sequences.batch();
    }

    @Override
    public int minibatch() {
        return sequences.minibatch();
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new TimeStepsCase(name, sequences.ofBatch(examples));
    }

    @Override
    public Schedule schedule() {
        return sequences.schedule();
    }

    @Override
    public Task inference() {
        return Task.TIME_STEPS;
    }
}
