package org.dl4jamp.benchmarks;

import org.dl4jamp.benchmarks.side.Schedule;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options for the length of a repetition. */
final class ScheduleOptions {
    @Option(
            names = "--warmup",
            paramLabel = "N",
            description = "Steps or passes before measuring, at least (default: the case's).")
    private Integer warmUp;

    @Option(
            names = "--steps",
            paramLabel = "N",
            description = "Measured steps or passes of a repetition, at least (default: the case's).")
    private Integer steps;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            description = "Time of the measured ones, at least (default: the case's).")
    private Double seconds;

    @Option(
            names = "--warmup-seconds",
            paramLabel = "S",
            description = {
                "Time of those before measuring, at least (default: the case's).",
                "It goes on for up to six times as long while HotSpot compiles, whose threads and those of the"
                        + " native libraries share"
                        + " the processors."
            })
    private Double warmUpSeconds;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    void validate() {
        requireAtLeast("--warmup", warmUp, 0);
        requireAtLeast("--steps", steps, 1);
        requireAtLeast("--seconds", seconds, 0);
        requireAtLeast("--warmup-seconds", warmUpSeconds, 0);
    }

    private void requireAtLeast(String option, Number value, int least) {
        // Negated, so that NaN isn't enough.
        if (value != null && !(value.doubleValue() >= least)) {
            throw new ParameterException(spec.commandLine(), option + " " + value + ": must be at least " + least);
        }
    }

    /** Returns a case's schedule with the values of the options. */
    Schedule of(Schedule usual) {
        return new Schedule(
                warmUp == null ? usual.warmUpSteps() : warmUp,
                warmUpSeconds == null ? usual.warmUpSeconds() : warmUpSeconds,
                steps == null ? usual.steps() : steps,
                seconds == null ? usual.seconds() : seconds);
    }
}
