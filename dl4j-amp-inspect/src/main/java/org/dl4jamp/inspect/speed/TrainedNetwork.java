package org.dl4jamp.inspect.speed;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.nd4j.linalg.dataset.DataSet;

/** A network that DL4J trains with {@code fit}, as it is or in mixed precision. */
final class TrainedNetwork implements Trainee {
    private final MultiLayerNetwork network;
    private final MixedPrecision amp;
    private Task.Size size;
    private DataSet batch;

    TrainedNetwork(Task task, Side side) {
        network = task.network().get();
        try {
            amp = side.config()
                    .map(config -> MixedPrecision.enable(network, config))
                    .orElse(null);
        } catch (RuntimeException e) {
            network.close();
            throw e;
        }
    }

    /** Trains, and reads the loss, which waits for a GPU. */
    @Override
    public void step(Task.Size of) {
        if (!of.equals(size)) {
            size = of;
            batch = of.batch().get();
        }
        network.fit(batch);
        network.score();
    }

    /** Returns how many steps the network has trained. */
    int steps() {
        return network.getIterationCount();
    }

    @Override
    public void close() {
        if (amp != null) {
            amp.close();
        }
        network.close();
    }
}
