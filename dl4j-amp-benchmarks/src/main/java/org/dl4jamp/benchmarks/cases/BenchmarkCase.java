package org.dl4jamp.benchmarks.cases;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Task;
import org.nd4j.linalg.dataset.DataSet;

/** A network and a batch, both the same at each call. */
public interface BenchmarkCase {
    /** Returns its name on the command line. */
    String name();

    /** Returns a short description of the network and its batch. */
    String description();

    /** Returns the name of its updater. */
    String updater();

    /** Returns the network with its initial weights. */
    NeuralNetwork network();

    /** Returns the batch of each step or pass. */
    DataSet batch();

    /** Examples in the batch. */
    int minibatch();

    /** Returns the same case with another number of examples. */
    BenchmarkCase ofBatch(int examples);

    /** Returns the default length of a repetition. */
    Schedule schedule();

    /** Returns whether a blueprint describes it, which floors, PyTorch's sides and inference need. */
    default boolean hasBlueprint() {
        return true;
    }

    /** Returns its task in inference. */
    default Task inference() {
        return Task.INFERENCE;
    }
}
