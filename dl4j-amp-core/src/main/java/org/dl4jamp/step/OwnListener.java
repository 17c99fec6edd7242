package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.network.AmpNetwork;

/** A listener that a training step adds to its network. It runs before others, which may read what was learned. */
abstract class OwnListener extends BaseTrainingListener {
    private final AmpNetwork network;
    private boolean removed;

    OwnListener(AmpNetwork network) {
        this.network = network;
    }

    /** Returns whether a notification is meant for it: DL4J's replicas of a network have its listeners. */
    @SuppressWarnings("ReferenceEquality")
    final boolean serves(Model model) {
        return model == network.model() && !removed;
    }

    /** Becomes the first listener, unless it's one of them: programs put others in their place at any time. */
    final void putBack() {
        removed = false;
        if (!network.listeners().contains(this)) {
            List<TrainingListener> listeners = new ArrayList<>(network.listeners());
            listeners.add(0, this);
            network.setListeners(listeners);
        }
    }

    final void remove() {
        removed = true;
        List<TrainingListener> others = new ArrayList<>(network.listeners());
        if (others.remove(this)) {
            network.setListeners(others);
        }
    }
}
