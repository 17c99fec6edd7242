package org.dl4jamp.inspect.speed;

import java.util.List;
import java.util.function.Supplier;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.dataset.DataSet;

/**
 * A network to train, and batches for it.
 *
 * @param network makes it
 * @param sizes the batches, the largest first; smaller ones are for slow machines
 */
record Task(Supplier<MultiLayerNetwork> network, List<Size> sizes) {
    /**
     * A batch.
     *
     * @param description layers and batch, in words
     * @param work the time of stock DL4J's step with this batch, relative to that of other sizes of the task
     * @param batch makes it
     */
    record Size(String description, double work, Supplier<DataSet> batch) {}

    Task {
        sizes = List.copyOf(sizes);
    }

    Size smallest() {
        return sizes.get(sizes.size() - 1);
    }
}
