package org.dl4jamp.step;

import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.network.AmpNetwork;

/** Notices the ends of a network's epochs: DL4J and its early stopping trainers notify only listeners of them. */
final class EpochEnd extends OwnListener {
    private final Runnable whatToDo;

    EpochEnd(AmpNetwork network, Runnable whatToDo) {
        super(network);
        this.whatToDo = whatToDo;
    }

    @Override
    public void onEpochEnd(Model model) {
        if (serves(model)) {
            whatToDo.run();
        }
    }
}
