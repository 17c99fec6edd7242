package org.dl4jamp.ui;

import java.util.Collection;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.MixedPrecision;

/**
 * Notifies a listener of the skipped steps of the network that it listens to. Copies of a listener share one: replica 0
 * of a {@code ParallelWrapper} is the same network in each fit, with another copy.
 */
final class SkipWatch {
    private final Set<MixedPrecision> watched = Collections.newSetFromMap(new WeakHashMap<>());

    synchronized void watch(Model model) {
        MixedPrecision.of(model)
                .filter(watched::add)
                .ifPresent(amp -> amp.onSkip((skip, iteration) -> {
                    for (TrainingListener listener : listeners(model)) {
                        if (listener instanceof MixedPrecisionStatsListener reporter && reporter.skips() == this) {
                            reporter.reports().skipped(model, amp, skip, iteration);
                        }
                    }
                }));
    }

    private static Collection<TrainingListener> listeners(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getListeners()
                : ((ComputationGraph) model).getListeners();
    }
}
