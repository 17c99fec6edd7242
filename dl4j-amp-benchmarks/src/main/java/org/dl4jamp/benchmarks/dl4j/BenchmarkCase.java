package org.dl4jamp.benchmarks.dl4j;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.dataset.DataSet;

/** A network and a batch, both the same each time they are asked for. */
public interface BenchmarkCase {
    /** Its name on the command line. */
    String name();

    /** What it is, in a few words. */
    String description();

    /** The network with its initial weights. */
    NeuralNetwork network();

    /** The batch that each step trains on. */
    DataSet batch();

    /** How long a repetition is if nobody says otherwise. */
    Schedule schedule();
}
