package org.dl4jamp.benchmarks;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.benchmarks.side.Schedule;

/**
 * What {@code --json} writes for a case.
 *
 * @param name of the case
 * @param description what it is
 * @param machine where it was measured
 * @param method how it was measured
 * @param sides by key
 */
@JsonPropertyOrder({"case", "description", "machine", "method", "sides"})
record CaseFigures(
        @JsonProperty("case") String name,
        String description,
        Machine machine,
        Method method,
        Map<String, SideFigures> sides) {
    /**
     * How it was measured.
     *
     * @param repetitions processes per side
     * @param threads of the native libraries
     * @param schedule of a repetition
     * @param lossStep the step whose loss is shown
     */
    record Method(int repetitions, int threads, Schedule schedule, int lossStep) {}

    CaseFigures {
        sides = new LinkedHashMap<>(sides);
    }

    /** Those of a side, if it was measured. */
    Optional<SideFigures> measured(Side side) {
        return Optional.ofNullable(sides.get(side.key())).filter(SideFigures::isAvailable);
    }

    /** How many times as long a step of one side takes as one of another; empty if one wasn't measured. */
    Optional<Double> ratio(Side slower, Side faster) {
        return measured(slower).flatMap(a -> measured(faster).map(b -> a.secondsPerStep() / b.secondsPerStep()));
    }
}
