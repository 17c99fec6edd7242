package org.dl4jamp.inference;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.twin.Twin;

/**
 * The weights of a twin in inference mode: taken over before the first pass, and again when the parameters that they
 * are made of have changed.
 */
public final class WatchedWeights implements Twin.Weights {
    private final Twin.Weights weights;
    private final Runnable preparation;
    private final List<ParameterWatch> watches;
    private final AtomicLong asked = new AtomicLong(1);
    private long done;

    /**
     * @param weights the twin's
     * @param preparation run before they are converted
     * @param masters the network's own layers of whose parameters they are made
     */
    public WatchedWeights(Twin.Weights weights, Runnable preparation, List<Layer> masters) {
        this.weights = weights;
        this.preparation = preparation;
        this.watches = masters.stream()
                .filter(master -> master.numParams() > 0)
                .map(ParameterWatch::new)
                .toList();
    }

    /** Has them taken over before the next pass, from any thread. */
    @Override
    public void masterSet() {
        asked.incrementAndGet();
    }

    @Override
    public void refresh() {
        long now = asked.get();
        if (done != now || watches.stream().anyMatch(ParameterWatch::hasChanged)) {
            // First: what another thread changes meanwhile is noticed the next time.
            watches.forEach(ParameterWatch::remember);
            done = 0;
            preparation.run();
            weights.refresh();
            done = now;
        }
    }

    @Override
    public void reload() {
        weights.reload();
    }
}
