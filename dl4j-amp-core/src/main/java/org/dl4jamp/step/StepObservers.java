package org.dl4jamp.step;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ObjIntConsumer;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.LayerObserver;
import org.dl4jamp.scale.Skip;

/** Those who are notified of a network's training steps, whatever its settings become. */
public final class StepObservers {
    private final List<ObjIntConsumer<Skip>> skips = new CopyOnWriteArrayList<>();
    private final List<LayerObserver> layers = new CopyOnWriteArrayList<>();
    private final List<Runnable> iterations = new CopyOnWriteArrayList<>();
    private final OwnListener iterationEnd;

    StepObservers(AmpNetwork network) {
        iterationEnd = new OwnListener(network, OwnListener.At.ITERATION_END, () -> iterations.forEach(Runnable::run));
    }

    /** Has an observer called with each backward pass that is skipped, before its gradients are dropped. */
    public void onSkip(ObjIntConsumer<Skip> observer) {
        skips.add(observer);
    }

    /** Has an observer called with the arrays between layers, until the result is run. */
    public Runnable onLayers(LayerObserver observer) {
        layers.add(observer);
        return () -> layers.remove(observer);
    }

    /** Has work done after each iteration, between two steps. */
    public void atIterationEnd(Runnable work) {
        iterations.add(work);
        putBack();
    }

    void skipped(Skip skip, int iteration) {
        skips.forEach(observer -> observer.accept(skip, iteration));
    }

    List<LayerObserver> layers() {
        return layers;
    }

    /** Listens to the network if there is work to do. */
    void putBack() {
        if (!iterations.isEmpty()) {
            iterationEnd.putBack();
        }
    }

    void remove() {
        iterationEnd.remove();
    }
}
