package org.dl4jamp.benchmarks.cases;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.dataset.DataSet;

/**
 * A network of DL4J's zoo as it is there, trained in stock DL4J and in mixed precision only.
 *
 * @param zoo the network
 * @param minibatch images or sequences
 */
record ZooCase(ZooNetwork zoo, int minibatch) implements BenchmarkCase {
    private static final int IMAGES = 2;
    private static final int SMALL_EXAMPLES = 32;

    /** Returns all networks of the zoo. */
    static List<BenchmarkCase> all() {
        return Arrays.stream(ZooNetwork.values())
                .<BenchmarkCase>map(zoo -> new ZooCase(zoo, minibatch(zoo)))
                .toList();
    }

    private static int minibatch(ZooNetwork zoo) {
        return switch (zoo) {
            case LENET, SIMPLECNN, TEXTGENERATION -> SMALL_EXAMPLES;
            default -> IMAGES;
        };
    }

    @Override
    public String name() {
        return zoo.caseName();
    }

    @Override
    public String description() {
        return zoo.description() + ", batch " + minibatch;
    }

    @Override
    public String updater() {
        return "the zoo's updater";
    }

    @Override
    public NeuralNetwork network() {
        return zoo.network();
    }

    @Override
    public DataSet batch() {
        return zoo.batch(minibatch);
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new ZooCase(zoo, examples);
    }

    @Override
    public Schedule schedule() {
        return Schedule.ofSteps(1, 2);
    }

    @Override
    public boolean hasBlueprint() {
        return false;
    }
}
