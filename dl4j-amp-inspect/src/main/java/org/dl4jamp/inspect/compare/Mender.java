package org.dl4jamp.inspect.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;

/**
 * Looks for a policy that mends what is weak, and runs the batches with each one that it tries. Tries, until one mends
 * it:
 *
 * <pre>
 * in HALF, for gradients    a scale for each layer
 * always                    the weak layer in FP32; then, beside it, the layer that is weak after that, and so on
 * in HALF                   BFLOAT16 in place of it
 * in BFLOAT16, on nd4j      HALF in place of it; other engines that compute BFLOAT16 compute no HALF
 * </pre>
 *
 * <p>Begins no trial when those before have taken half a minute.
 */
final class Mender {
    /** The number of places that are kept in FP32 at most. */
    private static final int MOST_KEPT = 4;

    /** The part of an error that is left by a policy that helps, at most. */
    private static final double HELP = 0.5;

    private static final String PORTABLE_ENGINE = "nd4j";

    private static final Duration LONGEST = Duration.ofSeconds(30);

    private final long start = System.nanoTime();
    private final NetworkGraph graph;
    private final Batches batches;
    private final Measurement first;
    private final Weakness weakness;
    private final PolicyLine policy;
    private final List<Trial> trials = new ArrayList<>();
    private boolean mended;

    Mender(NetworkGraph graph, Batches batches, AmpConfig config, Measurement first, Weakness weakness) {
        this.graph = graph;
        this.batches = batches;
        this.first = first;
        this.weakness = weakness;
        this.policy = PolicyLine.of(config, first.plan().precision());
    }

    /** Runs the trials, and returns them in order; one that mends is the last. */
    List<Trial> run() {
        boolean half = first.plan().precision() == Precision.HALF;
        if (half && !weakness.ofActivations()) {
            attempt(policy.withLayerScales());
        }
        if (!mended) {
            keepLayers();
        }
        if (!mended && (half || first.engine().equals(PORTABLE_ENGINE))) {
            attempt(PolicyLine.of(policy.config(), half ? Precision.BFLOAT16 : Precision.HALF));
        }
        return trials;
    }

    /** Returns the trial that mends, or else the one that helps most; empty if none helps. */
    Optional<Trial> best() {
        double before = errorOfWeakest(first);
        return trials.stream()
                .filter(trial -> trial.mends() || helps(trial.layer(), before))
                .min(Comparator.comparing((Trial trial) -> !trial.mends()).thenComparingDouble(Trial::layer));
    }

    private static boolean helps(double after, double before) {
        return Double.isFinite(after) && after <= HELP * before;
    }

    private void keepLayers() {
        Set<String> kept = new LinkedHashSet<>();
        Measurement last = first;
        for (int i = 0; i < MOST_KEPT && !mended; i++) {
            Optional<Weakness> weak = Weakness.ofPolicy(last.layers());
            if (weak.isEmpty()) {
                return;
            }
            HalfLayers half = new HalfLayers(graph, last.plan());
            Set<String> more = half.at(weak.get().name());
            if (more.isEmpty() || kept.containsAll(more)) {
                more = half.after(weak.get().name());
            }
            if (more.isEmpty() || !kept.addAll(more)) {
                return;
            }
            Optional<Measurement> measured = attempt(policy.keeping(kept));
            if (measured.isEmpty()) {
                return;
            }
            last = measured.get();
        }
    }

    private Optional<Measurement> attempt(PolicyLine candidate) {
        if (System.nanoTime() - start > LONGEST.toNanos()) {
            trials.add(Trial.refused(
                    candidate.call(), "the trials before it have taken " + LONGEST.toSeconds() + " seconds"));
            return Optional.empty();
        }
        Measurement measured;
        try {
            measured = batches.measure(candidate.config());
        } catch (AmpException e) {
            trials.add(Trial.refused(candidate.call(), e.getMessage()));
            return Optional.empty();
        }
        mended = Weakness.ofPolicy(measured.layers()).isEmpty()
                && measured.skips().isEmpty();
        trials.add(new Trial(
                candidate.call(),
                Optional.empty(),
                mended,
                errorOfWeakest(measured),
                measured.gradients().error(),
                measured.halfLayers()));
        return Optional.of(measured);
    }

    /** Returns the error of the numbers that were weak at first; where they aren't computed, that of its gradients. */
    private double errorOfWeakest(Measurement measurement) {
        return measurement
                .layer(weakness.name())
                .flatMap(layer ->
                        weakness.ofActivations() ? layer.activations().or(layer::gradients) : layer.gradients())
                .map(numbers -> numbers.mixed().error())
                .orElse(Double.NaN);
    }
}
