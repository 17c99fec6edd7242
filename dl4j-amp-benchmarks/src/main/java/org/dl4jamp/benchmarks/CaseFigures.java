package org.dl4jamp.benchmarks;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Task;

/**
 * The output of {@code --json} for a case.
 *
 * @param name of the case
 * @param description what it is
 * @param machine the machine of the measurement
 * @param method the method of measurement
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
     * The method of measurement.
     *
     * @param repetitions processes per side
     * @param threads of the native libraries
     * @param task training or inference
     * @param minibatch examples of a step or pass
     * @param schedule of a repetition
     * @param lossStep the step of the loss that is shown, null in inference
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Method(int repetitions, int threads, Task task, int minibatch, Schedule schedule, Integer lossStep) {
        static Method of(int repetitions, int threads, Task task, int minibatch, Schedule schedule) {
            Integer lossStep = task.isInference() ? null : schedule.lossStep();
            return new Method(repetitions, threads, task, minibatch, schedule, lossStep);
        }
    }

    CaseFigures {
        sides = new LinkedHashMap<>(sides);
    }

    /** Returns the case, and in inference, for which some are measured with several, the batch. */
    String title() {
        return task().isInference() ? name + ", batch " + method.minibatch() : name;
    }

    Task task() {
        return method.task();
    }

    /** Returns the fastest of PyTorch's sides; empty if none was measured. */
    Optional<Side> fastestOfPyTorch() {
        return Arrays.stream(Side.values())
                .filter(side -> side.isPyTorch() && measured(side).isPresent())
                .min(Comparator.comparing(side -> measured(side).orElseThrow().secondsPerStep()));
    }

    /** Returns why sides couldn't run, by key. */
    Map<String, String> unavailable() {
        Map<String, String> reasons = new LinkedHashMap<>();
        sides.forEach((side, figures) -> {
            if (!figures.isAvailable()) {
                reasons.put(side, figures.unavailable());
            }
        });
        return reasons;
    }

    /** Returns those of a side, if it was measured. */
    Optional<SideFigures> measured(Side side) {
        return Optional.ofNullable(sides.get(side.key())).filter(SideFigures::isAvailable);
    }

    /** Returns how many times as long a step of one side takes as one of another; empty if one wasn't measured. */
    Optional<Double> ratio(Side slower, Side faster) {
        return measured(slower).flatMap(a -> measured(faster).map(b -> a.secondsPerStep() / b.secondsPerStep()));
    }
}
