package org.dl4jamp.inspect.compare;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.compare.numbers.Difference;
import org.dl4jamp.inspect.compare.numbers.NumberRange;
import org.dl4jamp.policy.PrecisionPlan;
import org.nd4j.linalg.dataset.MultiDataSet;

/** The same batches, run through a network in stock DL4J and with any policy. */
final class Batches {
    private final ComparedNetwork network;
    private final List<MultiDataSet> batches;
    private final List<Pass> references = new ArrayList<>();
    private final PassRanges inFp32 = new PassRanges();
    private Optional<PassDifferences> rounded = Optional.empty();
    private double roundedLoss = Double.NaN;

    /** Runs the batches in stock DL4J. */
    Batches(ComparedNetwork network, List<MultiDataSet> batches) {
        this.network = network;
        this.batches = batches;
        for (MultiDataSet batch : batches) {
            Pass pass = network.plain(batch);
            references.add(pass);
            inFp32.add(pass);
        }
    }

    /** Runs them in stock DL4J with weights rounded as a plan says. */
    private void round(PrecisionPlan plan) {
        PassDifferences differences = new PassDifferences();
        double losses = 0;
        network.roundParameters(plan);
        for (int i = 0; i < batches.size(); i++) {
            Pass pass = network.plain(batches.get(i));
            differences.add(references.get(i), pass);
            losses += pass.loss();
        }
        network.restoreParameters();
        rounded = Optional.of(differences);
        roundedLoss = losses / batches.size();
    }

    /**
     * Runs them in mixed precision. The first time with layers in half precision they are also run in stock DL4J, with
     * the weights of these layers rounded. All results are set beside those.
     *
     * @throws org.dl4jamp.precision.AmpException if it can't be enabled with these settings
     */
    Measurement measure(AmpConfig config) {
        PassDifferences differences = new PassDifferences();
        PassRanges ranges = new PassRanges();
        MixedPasses passes = new MixedPasses(network, config);
        try (passes) {
            for (int i = 0; i < batches.size(); i++) {
                Pass pass = passes.run(batches.get(i));
                differences.add(references.get(i), pass);
                ranges.add(pass);
            }
        }
        PrecisionPlan plan = passes.plan();
        if (rounded.isEmpty() && plan.anyHalf()) {
            round(plan);
        }
        Map<String, NumberRange> inputGradients = passes.inputGradients();
        List<LayerComparison> layers = plan.rows().stream()
                .map(row -> layer(row, plan, inputGradients, differences, ranges))
                .toList();
        return new Measurement(
                plan,
                passes.engine(),
                passes.firstScale(),
                passes.lastScale(),
                passes.skips(),
                ranges.loss(),
                layers,
                differences.allGradients());
    }

    private LayerComparison layer(
            PrecisionPlan.Row row,
            PrecisionPlan plan,
            Map<String, NumberRange> inputGradients,
            PassDifferences differences,
            PassRanges ranges) {
        String name = row.name();
        Optional<Compared> activations = differences
                .activations(name)
                .map(mixed -> new Compared(
                        mixed,
                        rounded.flatMap(of -> of.activations(name)),
                        inFp32.activations(name).orElseThrow(),
                        ranges.activations(name).orElseThrow()));
        Optional<Compared> gradients = differences
                .gradients(name)
                .map(mixed -> new Compared(
                        mixed,
                        rounded.flatMap(of -> of.gradients(name)),
                        inFp32.gradients(name).orElseThrow(),
                        ranges.gradients(name).orElseThrow()));
        List<ParameterComparison> parameters = inFp32.parameters(name).stream()
                .map(parameter -> new ParameterComparison(
                        parameter,
                        new Compared(
                                differences.gradient(name, parameter),
                                rounded.map(of -> of.gradient(name, parameter)),
                                inFp32.gradient(name, parameter),
                                ranges.gradient(name, parameter))))
                .toList();
        return new LayerComparison(
                name,
                row.className(),
                row.precision().toString(),
                row.engine(),
                plan.fusions().stream()
                        .filter(fusion -> fusion.first().equals(name))
                        .map(PrecisionPlan.Fusion::then)
                        .findFirst(),
                activations,
                gradients,
                Optional.ofNullable(inputGradients.get(name)),
                parameters);
    }

    double loss() {
        return inFp32.loss();
    }

    /** Returns the mean loss with rounded weights; empty without layers in half precision. */
    Optional<Double> roundedLoss() {
        return rounded.map(of -> roundedLoss);
    }

    /** Returns the difference of all gradients with rounded weights; empty without layers in half precision. */
    Optional<Difference> roundedGradients() {
        return rounded.map(PassDifferences::allGradients);
    }
}
