package org.dl4jamp.spark;

import java.io.Serializable;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.BinaryOperator;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.scale.LossScalerState;

/**
 * The state of training when all tasks of a stage had ended. The tasks of the next stage begin with it.
 *
 * @param stage Spark's number of the stage
 * @param scalers by kind of loss scaler, for executors may differ, the state with the lowest scale
 * @param taken steps that an average worker has taken since training began
 * @param skipped steps that an average worker has skipped since training began
 * @param consecutiveSkips number of them at the end, in a row
 * @param withoutStep iterations before this training whose gradients were only added up; there are none on Spark
 */
record StageEnd(
        int stage,
        Map<String, LossScalerState> scalers,
        double taken,
        double skipped,
        SkipsInARow consecutiveSkips,
        long withoutStep)
        implements Serializable {
    /** Before any stage. */
    static final StageEnd BEGINNING = new StageEnd(-1, Map.of(), 0, 0, SkipsInARow.NONE, 0);

    StageEnd {
        scalers = Map.copyOf(scalers);
    }

    /** Returns the end before the first stage of a training that goes on from a state. */
    static StageEnd of(AmpState state) {
        return new StageEnd(
                BEGINNING.stage(),
                Map.of(state.scaler().kind(), state.scaler()),
                state.stepsTaken(),
                state.stepsSkipped(),
                SkipsInARow.ofAll(state.consecutiveSkips()),
                state.iterationsWithoutStep());
    }

    /**
     * Returns the end that a stage begins with.
     *
     * @param ends in the order of their stages, perhaps with that of the stage itself, which is run again, among them
     */
    static StageEnd before(int stage, List<StageEnd> ends) {
        return ends.stream()
                .filter(end -> end.stage() < stage)
                .reduce((earlier, later) -> later)
                .orElse(BEGINNING);
    }

    /** Returns the end after one more stage, of one task for each worker or, where a network lives on, of several. */
    StageEnd then(int next, Collection<TaskReport> reports) {
        Collection<TaskReport> last = reports.stream()
                .collect(Collectors.toMap(
                        TaskReport::worker,
                        report -> report,
                        BinaryOperator.maxBy(Comparator.comparing(TaskReport::steps))))
                .values();
        Map<String, LossScalerState> lowest = last.stream()
                .map(report -> report.end().scaler())
                .collect(Collectors.toMap(
                        LossScalerState::kind, state -> state, BinaryOperator.minBy(LossScalerState.LOWEST_FIRST)));
        return new StageEnd(
                next,
                lowest,
                taken + sum(reports, TaskReport::taken) / last.size(),
                skipped + sum(reports, TaskReport::skipped) / last.size(),
                consecutiveSkips.then(last),
                withoutStep);
    }

    private static double sum(Collection<TaskReport> reports, ToLongFunction<TaskReport> steps) {
        return reports.stream().mapToLong(steps).sum();
    }

    /** Returns the lowest scale of all kinds of scalers that scale at all, as the state of one machine that goes on. */
    LossScalerState lowestScaler() {
        return scalers.values().stream()
                .filter(state -> state.scale() != 1)
                .min(LossScalerState.LOWEST_FIRST)
                .orElseGet(() -> scalers.values().iterator().next());
    }
}
