package org.dl4jamp.ui;

import org.deeplearning4j.core.storage.StatsStorageRouter;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;

/** A training in a thread of its own that goes on until it's closed. */
final class LiveTraining implements AutoCloseable {
    private final Thread thread;
    private volatile boolean ended;

    /**
     * Begins to train a network, with DL4J's listener and this module's.
     *
     * @param pause milliseconds between two iterations
     */
    LiveTraining(MultiLayerNetwork network, AmpConfig config, StatsStorageRouter router, String session, int pause) {
        MixedPrecision.enable(network, config);
        StatsListener stats = new StatsListener(router, null, null, session, "worker");
        network.setListeners(stats, MixedPrecisionStatsListener.beside(stats, 1));
        thread = new Thread(() -> {
            for (int i = 0; !ended; i++) {
                network.fit(Training.batch(i));
                sleep(pause);
            }
        });
        thread.start();
    }

    private static void sleep(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        ended = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
