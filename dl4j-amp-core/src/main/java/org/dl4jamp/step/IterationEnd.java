package org.dl4jamp.step;

import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.network.AmpNetwork;

/** Notices the ends of a network's iterations, where layers may be replaced. */
final class IterationEnd extends OwnListener {
    private final Runnable whatToDo;

    IterationEnd(AmpNetwork network, Runnable whatToDo) {
        super(network);
        this.whatToDo = whatToDo;
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        if (serves(model)) {
            whatToDo.run();
        }
    }
}
