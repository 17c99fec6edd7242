package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.network.AmpNetwork;

/** Hears of a network's epochs that end, which DL4J and its early stopping trainers tell listeners alone, before other listeners look at what was learned. */
final class EpochEnd extends BaseTrainingListener {
    private final AmpNetwork network;
    private final Runnable whatToDo;

    /**
     * @param network what is trained
     * @param whatToDo at the end of each epoch
     */
    EpochEnd(AmpNetwork network, Runnable whatToDo) {
        this.network = network;
        this.whatToDo = whatToDo;
    }

    // DL4J's replicas of a network have its listeners.
    @SuppressWarnings("ReferenceEquality")
    @Override
    public void onEpochEnd(Model model) {
        if (model == network.model()) {
            whatToDo.run();
        }
    }

    /** Becomes the first of the network's listeners, unless it's one of them: programs put others in their place at any time. */
    void putBack() {
        Collection<TrainingListener> listeners = network.listeners();
        if (!listeners.contains(this)) {
            List<TrainingListener> others = new ArrayList<>(listeners);
            listeners.clear();
            listeners.add(this);
            listeners.addAll(others);
        }
    }

    /** Hears of nothing any more. */
    void remove() {
        network.listeners().remove(this);
    }
}
