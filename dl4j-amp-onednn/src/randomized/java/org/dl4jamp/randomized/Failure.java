package org.dl4jamp.randomized;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Optional;
import net.jqwik.api.Shrinkable;
import org.dl4jamp.randomized.DifferentialCheck.Found;

/**
 * A scenario in which mixed precision differs from stock DL4J.
 *
 * @param seed what repeats it
 */
record Failure(long seed, Shrinkable<Scenario> scenario, Playing playing, Found found) {
    private static final int MOST_ATTEMPTS = Integer.getInteger("amp.random.shrink", 150);

    /** Makes the scenario smaller as long as some difference is left on the same engine. */
    Failure shrunk() {
        Failure smallest = this;
        int attempts = 0;
        boolean found = true;
        while (found && attempts < MOST_ATTEMPTS) {
            found = false;
            for (Shrinkable<Scenario> smaller :
                    smallest.scenario.shrink().limit(MOST_ATTEMPTS).toList()) {
                attempts++;
                Optional<Found> difference = DifferentialCheck.of(
                                smaller.value(), playing, List.of(smallest.found.engine()))
                        .found();
                if (difference.isPresent()) {
                    smallest = new Failure(seed, smaller, playing, difference.get());
                    found = true;
                    break;
                }
                if (attempts >= MOST_ATTEMPTS) {
                    break;
                }
            }
        }
        return smallest;
    }

    @Override
    public String toString() {
        Scenario smallest = scenario.value();
        StringBuilder text = new StringBuilder("-Damp.random.seed=")
                .append(seed)
                .append(" repeats it; engine ")
                .append(found.engine())
                .append(": ")
                .append(found.difference().text())
                .append(", where rounding moves stock DL4J by ")
                .append(found.spread())
                .append("\nafter shrinking: ")
                .append(smallest);
        DifferentialCheck.describe(smallest).ifPresent(network -> network.lines()
                .forEach(line -> text.append("\n  ").append(line)));
        if (found.difference().failure() != null) {
            StringWriter trace = new StringWriter();
            found.difference().failure().printStackTrace(new PrintWriter(trace));
            trace.toString().lines().limit(14).forEach(line -> text.append("\n  ")
                    .append(line));
        }
        return text.toString();
    }
}
