package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.network.AmpNetwork;

/**
 * Notices the ends of a network's epochs: DL4J and its early stopping trainers notify only listeners of them. Runs
 * before other listeners, which may read what was learned.
 */
final class EpochEnd extends BaseTrainingListener {
    private final AmpNetwork network;
    private final Runnable whatToDo;
    private boolean removed;

    EpochEnd(AmpNetwork network, Runnable whatToDo) {
        this.network = network;
        this.whatToDo = whatToDo;
    }

    // DL4J's replicas of a network have its listeners.
    @SuppressWarnings("ReferenceEquality")
    @Override
    public void onEpochEnd(Model model) {
        if (model == network.model() && !removed) {
            whatToDo.run();
        }
    }

    /** Becomes the first listener, unless it's one of them: programs put others in their place at any time. */
    void putBack() {
        if (!network.listeners().contains(this)) {
            List<TrainingListener> listeners = new ArrayList<>(network.listeners());
            listeners.add(0, this);
            network.setListeners(listeners);
        }
    }

    void remove() {
        removed = true;
        List<TrainingListener> others = new ArrayList<>(network.listeners());
        if (others.remove(this)) {
            network.setListeners(others);
        }
    }
}
