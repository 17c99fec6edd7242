package org.dl4jamp.listeners;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.Skip;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out where a skipped step went wrong: the first layer and parameter whose gradient isn't finite or, where the
 * loss isn't, the first layer whose output isn't. Keeps the last {@linkplain SkipReport reports}, and logs the first of
 * each kind at WARN.
 *
 * <pre>
 * SkipForensics forensics = new SkipForensics(5, 20);
 * net.setListeners(new AmpListener(), forensics);
 * net.fit(iterator, epochs);
 * forensics.reports().forEach(System.out::println);
 * </pre>
 *
 * <p>Costs nothing while no step is skipped. A skipped step is looked at once: its gradients, and if the loss wasn't
 * finite the outputs of all layers, for which the batch runs forward once more. That needs their memory, leaves random
 * numbers as they were, and isn't done for truncated backpropagation through time, whose recurrent state it would lack.
 *
 * <p>Several networks may have the same one, as the replicas of a {@code ParallelWrapper} that it's a listener of.
 * Thread-safe. Serializable: the copy has no reports yet. So on Spark each executor's log names what it found.
 */
public class SkipForensics extends BaseTrainingListener implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final Logger LOG = LoggerFactory.getLogger(SkipForensics.class);

    private final int layersBefore;
    private final int kept;
    private transient Deque<SkipReport> reports;
    private transient Set<String> kinds;
    private transient Set<MixedPrecision> watched;

    /**
     * Takes part from the next step on.
     *
     * @param layersBefore number of arrays before the first one that isn't finite in a report, at least 0
     * @param kept number of the reports that are kept, the last ones; at least 1
     * @throws AmpException if one of them is less
     */
    public SkipForensics(int layersBefore, int kept) {
        if (layersBefore < 0) {
            throw new AmpException("layersBefore(" + layersBefore + "): at least 0 is needed, such as 5");
        }
        if (kept < 1) {
            throw new AmpException("kept(" + kept + "): at least 1 report has to be kept, such as 20");
        }
        this.layersBefore = layersBefore;
        this.kept = kept;
        begin();
    }

    private void begin() {
        reports = new ArrayDeque<>();
        kinds = new HashSet<>();
        watched = Collections.newSetFromMap(new WeakHashMap<>());
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        begin();
    }

    /** Returns the reports that are kept, the oldest first. */
    public synchronized List<SkipReport> reports() {
        return List.copyOf(reports);
    }

    @Override
    public void onEpochStart(Model model) {
        watch(model);
    }

    /** Called between a backward pass and its update. */
    @Override
    public void onGradientCalculation(Model model) {
        watch(model);
    }

    private void watch(Model model) {
        if (model instanceof MultiLayerNetwork || model instanceof ComputationGraph) {
            MixedPrecision.of(model).ifPresent(amp -> watch(model, amp));
        }
    }

    private synchronized void watch(Model model, MixedPrecision amp) {
        if (watched.add(amp)) {
            amp.onSkip((skip, iteration) -> {
                if (listeners(model).contains(this)) {
                    look(model, amp, iteration, skip);
                }
            });
        }
    }

    private static Collection<TrainingListener> listeners(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getListeners()
                : ((ComputationGraph) model).getListeners();
    }

    private void look(Model model, MixedPrecision amp, int iteration, Skip skip) {
        try {
            keep(SkipReport.of(model, amp, skip, iteration, layersBefore));
        } catch (RuntimeException e) {
            // Training never stops because of a look at it.
            LOG.warn("The skipped step of iteration {} can't be looked at", iteration, e);
        }
    }

    private synchronized void keep(SkipReport report) {
        if (reports.size() == kept) {
            reports.removeFirst();
        }
        reports.addLast(report);
        if (kinds.add(report.kind())) {
            LOG.warn("{}. Steps that are skipped there again are kept, but not logged", report);
        }
    }
}
