package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.network.AmpNetwork;

/**
 * A listener that a training step adds to its network. It runs before others, which may read what was learned. DL4J and
 * its early stopping trainers notify only listeners of the ends of epochs.
 */
final class OwnListener extends BaseTrainingListener {
    /** The time at which it works. Layers may be replaced at the end of an iteration. */
    enum At {
        ITERATION_END,
        EPOCH_END
    }

    private final AmpNetwork network;
    private final At at;
    private final Runnable work;
    private boolean removed;

    OwnListener(AmpNetwork network, At at, Runnable work) {
        this.network = network;
        this.at = at;
        this.work = work;
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        notified(model, At.ITERATION_END);
    }

    @Override
    public void onEpochEnd(Model model) {
        notified(model, At.EPOCH_END);
    }

    /** Works, unless the notification isn't meant for it: DL4J's replicas of a network have its listeners. */
    @SuppressWarnings("ReferenceEquality")
    private void notified(Model model, At now) {
        if (model == network.model() && !removed && now == at) {
            work.run();
        }
    }

    /** Becomes the first listener, unless it's one of them: programs put others in their place at any time. */
    void putBack() {
        removed = false;
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
