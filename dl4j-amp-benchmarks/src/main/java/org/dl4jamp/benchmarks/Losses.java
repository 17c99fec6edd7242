package org.dl4jamp.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Whether all sides trained the same. */
final class Losses {
    /** How far losses may be apart, relatively. */
    static final double TOLERANCE = 0.05;

    private Losses() {}

    /** One sentence for each side whose loss isn't that of the first trained side. Floors, which don't train, are held to the first loss. */
    static List<String> disagreements(CaseFigures figures) {
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
                // Negated, so that NaN disagrees.
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
