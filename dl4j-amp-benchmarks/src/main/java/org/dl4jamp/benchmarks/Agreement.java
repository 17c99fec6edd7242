package org.dl4jamp.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.dl4jamp.benchmarks.process.Side;

/** The comparison of all sides' losses or outputs. */
final class Agreement {
    /** The tolerance: relative for losses, in fractions of the largest for outputs. */
    static final double TOLERANCE = 0.05;

    private Agreement() {}

    /** Returns one sentence for each side that disagrees. */
    static List<String> disagreements(CaseFigures figures) {
        return figures.task().isInference() ? ofOutputs(figures) : ofLosses(figures);
    }

    /** Returns the sides with other outputs than stock DL4J's. */
    private static List<String> ofOutputs(CaseFigures figures) {
        List<String> found = new ArrayList<>();
        for (Side side : Side.values()) {
            figures.measured(side)
                    .filter(measured -> !(measured.difference() <= TOLERANCE))
                    .ifPresent(measured -> found.add(String.format(
                            Locale.ROOT,
                            "the outputs of %s disagree: those of %s differ from stock DL4J's by up to %.2g of the"
                                    + " largest",
                            figures.title(),
                            side.key(),
                            measured.difference())));
        }
        return found;
    }

    /**
     * Returns the sides with another loss than the first trained side. Floors don't train: for these the first loss
     * counts.
     */
    private static List<String> ofLosses(CaseFigures figures) {
        List<String> found = new ArrayList<>();
        Optional<Side> reference = List.of(Side.values()).stream()
                .filter(side -> !side.isFloor() && figures.measured(side).isPresent())
                .findFirst();
        if (reference.isEmpty()) {
            return found;
        }
        SideFigures right = figures.measured(reference.get()).orElseThrow();
        for (Side side : Side.values()) {
            figures.measured(side).ifPresent(measured -> {
                double expected = side.isFloor() ? right.firstLoss() : right.loss();
                double actual = side.isFloor() ? measured.firstLoss() : measured.loss();
                // Negated, as above, so that NaN disagrees.
                if (!(Math.abs(actual - expected) <= TOLERANCE * Math.abs(expected))) {
                    found.add(String.format(
                            Locale.ROOT,
                            "the losses of %s disagree: %s has %.5g, %s has %.5g",
                            figures.name(),
                            side.key(),
                            actual,
                            reference.get().key(),
                            expected));
                }
            });
        }
        return found;
    }
}
