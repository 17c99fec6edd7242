package org.dl4jamp.inspect.compare;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.compare.numbers.Difference;
import org.dl4jamp.policy.NetworkGraph;

/** Draws the conclusion of a comparison. */
final class Judge {
    private final NetworkGraph graph;
    private final Batches batches;
    private final AmpConfig config;
    private final List<String> sentences = new ArrayList<>();

    Judge(NetworkGraph graph, Batches batches, AmpConfig config) {
        this.graph = graph;
        this.batches = batches;
        this.config = config;
    }

    Verdict judge(Measurement mixed) {
        if (isNotFiniteInFp32(mixed)) {
            sentences.add("Numbers aren't finite in stock DL4J in FP32: there is nothing to compare with.");
            return verdict(Verdict.Kind.NOT_FINITE_IN_FP32, Optional.empty());
        }
        if (!mixed.plan().anyHalf()) {
            sentences.add("No layer computes in half precision: the errors are those of FP32 on engine "
                    + mixed.engine() + ".");
            return verdict(Verdict.Kind.NO_HALF, largestError(mixed));
        }
        Optional<Weakness> weak = Weakness.ofPolicy(mixed.layers());
        if (weak.isPresent()) {
            return mended(mixed, weak.get());
        }
        return Weakness.among(mixed.layers()).isEmpty() ? healthy(mixed) : illConditioned(mixed);
    }

    private static boolean isNotFiniteInFp32(Measurement mixed) {
        return Double.isNaN(mixed.gradients().error())
                || mixed.layers().stream()
                        .flatMap(layer -> layer.activations().stream())
                        .anyMatch(
                                activations -> Double.isNaN(activations.mixed().error()));
    }

    private Verdict healthy(Measurement mixed) {
        sentences.add("Nothing needs mending: no layer's activations or gradients differ from FP32's by more than "
                + percent(Weakness.TOLERANCE) + ".");
        Optional<LayerComparison> largest = largestError(mixed);
        largest.ifPresent(layer -> sentences.add("The weakest layer is " + quoted(layer) + ": its gradients "
                + differ(error(layer)) + "; with rounded weights alone they " + differ(roundedError(layer)) + "."));
        return verdict(Verdict.Kind.HEALTHY, largest);
    }

    private Verdict illConditioned(Measurement mixed) {
        Weakness largest = Weakness.among(mixed.layers()).stream()
                .max(Comparator.comparingDouble(weak -> weak.numbers().mixed().error()))
                .orElseThrow();
        sentences.add("The policy isn't to blame: the network is ill-conditioned for this batch. Rounding the weights"
                + " alone, in stock DL4J in FP32, makes errors of that size.");
        sentences.add("The weakest layer is " + quoted(largest.layer()) + ": its " + numbers(largest) + " "
                + differ(largest.numbers().mixed().error()) + alone(largest) + ".");
        sentences.add("Compare after some training, or with more examples in a batch.");
        return verdict(Verdict.Kind.ILL_CONDITIONED, Optional.of(largest.layer()));
    }

    private Verdict mended(Measurement mixed, Weakness weak) {
        Mender mender = new Mender(graph, batches, config, mixed, weak);
        List<Trial> trials = mender.run();
        Optional<Trial> best = mender.best();
        sentences.add("The weakest layer is " + quoted(weak.layer()) + ": " + what(mixed, weak) + ".");
        if (best.isEmpty()) {
            sentences.add(
                    "None of the other policies that were run with these batches, which are listed below, makes it"
                            + " much better.");
            return new Verdict(Verdict.Kind.NOT_MENDED, sentences, Optional.of(weak.name()), Optional.empty(), trials);
        }
        Trial trial = best.get();
        sentences.add((trial.mends() ? "This mends it: " : "This helps, and doesn't mend all: ") + trial.line());
        sentences.add("With it the layer's " + numbers(weak) + " " + differ(trial.layer()) + ", and all gradients of"
                + " the network " + differ(trial.gradients()) + ". "
                + (trial.half() == 0
                        ? "Nothing computes"
                        : "Of " + mixed.layers().size() + " layers and vertices " + trial.half() + " compute")
                + " in half precision then, "
                + mixed.halfLayers() + " do now.");
        if (trial.mends() && trial.gradients() > Weakness.TOLERANCE) {
            sentences.add("Rounding the weights alone explains the errors that are left.");
        }
        return new Verdict(
                trial.mends() ? Verdict.Kind.MENDED : Verdict.Kind.HELPED,
                sentences,
                Optional.of(weak.name()),
                best,
                trials);
    }

    private static String what(Measurement mixed, Weakness weak) {
        Difference difference = weak.numbers().mixed();
        if (difference.overflows()) {
            return percent(difference.nonFinite()) + " of its " + numbers(weak)
                    + " aren't finite, which in FP32 all are" + alone(weak);
        }
        String vanished = difference.vanished() > 0 && !weak.ofActivations()
                ? ", and " + percent(difference.vanished()) + " of those that aren't zero in FP32 are zero (loss scale "
                        + mixed.lastScale() + ")"
                : "";
        return "its " + numbers(weak) + " " + differ(difference.error()) + vanished + alone(weak);
    }

    private static String alone(Weakness weak) {
        return weak.numbers()
                .rounded()
                .map(rounded -> "; with rounded weights alone they " + differ(rounded.error()))
                .orElse("");
    }

    private static String differ(double error) {
        return Double.isFinite(error) ? "differ by " + percent(error) : "aren't finite";
    }

    private static String numbers(Weakness weak) {
        return weak.ofActivations() ? "activations" : "gradients";
    }

    private static Optional<LayerComparison> largestError(Measurement mixed) {
        return mixed.layers().stream()
                .filter(layer -> layer.gradients().isPresent())
                .max(Comparator.comparingDouble(Judge::error));
    }

    private static double error(LayerComparison layer) {
        return layer.gradients().orElseThrow().mixed().error();
    }

    private static double roundedError(LayerComparison layer) {
        return layer.gradients().orElseThrow().rounded().orElseThrow().error();
    }

    private Verdict verdict(Verdict.Kind kind, Optional<LayerComparison> weakest) {
        return new Verdict(
                kind, List.copyOf(sentences), weakest.map(LayerComparison::layer), Optional.empty(), List.of());
    }

    private static String quoted(LayerComparison layer) {
        return "\"" + layer.layer() + "\" (" + layer.className() + ")";
    }

    /** Returns a share or an error in per cent, with three digits. */
    static String percent(double share) {
        return String.format(Locale.ROOT, "%.3g %%", 100 * share);
    }
}
