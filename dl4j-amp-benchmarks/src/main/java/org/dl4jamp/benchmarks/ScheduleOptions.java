package org.dl4jamp.benchmarks;

import org.dl4jamp.benchmarks.side.Records;
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

    @Option(
            names = "--turns",
            defaultValue = "1",
            paramLabel = "N",
            description = {
                "In how many parts the steps or passes of a repetition are measured (default: ${DEFAULT-VALUE}).",
                "With more than one, the processes of all sides are in memory at once, and are measured by turns, such"
                        + " as each for a second of five. So a host whose speed changes affects all sides alike."
            })
    private int turns;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    /** @param records what the sides record, which they do in one turn */
    void validate(Records records) {
        requireAtLeast("--turns", turns, 1);
        if (turns > 1 && records != Records.NOTHING) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--turns " + turns + ": with --kernels or --profile it has to be 1; leave it away");
        }
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
                seconds == null ? usual.seconds() : seconds,
                turns);
    }
}
