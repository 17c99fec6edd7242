package org.dl4jamp.benchmarks.cases;

import java.util.List;
import java.util.stream.Stream;
import org.dl4jamp.benchmarks.side.Schedule;

/** All cases, so small that they train in a moment, and the smallest as they are. */
public final class TinyCases {
    private static final Schedule SCHEDULE = Schedule.ofSteps(1, 1);

    private TinyCases() {}

    public static Stream<BenchmarkCase> all() {
        return Stream.concat(
                Stream.of(
                        new SineCase(8, 16),
                        mlp(7),
                        lstm(),
                        lenet(),
                        new Resnet50Case(160, 2, 10),
                        attention(),
                        textGeneration(),
                        unet()),
                BenchmarkCases.ofTraining("small").stream());
    }

    /** All, and the recurrent one once more, one time step at a time. */
    public static Stream<BenchmarkCase> inference() {
        return Stream.concat(all(), Stream.of(new TimeStepsCase("lstm-step", lstm())));
    }

    public static MlpCase mlp(int classes) {
        return new MlpCase("mlp", List.of(20, 30, 30, classes), 5, SCHEDULE);
    }

    public static LstmCase lstm() {
        return new LstmCase("lstm", 2, 9, 6, 4, 5, SCHEDULE);
    }

    public static AttentionCase attention() {
        return new AttentionCase("attention", 2, 3, 12, 20, 7, 4, SCHEDULE);
    }

    public static TextGenerationCase textGeneration() {
        return new TextGenerationCase(6, 4, 5, SCHEDULE);
    }

    public static UnetCase unet() {
        return new UnetCase(16, 2, 8);
    }

    private static LenetCase lenet() {
        return new LenetCase("lenet", 3, 1e-3, SCHEDULE);
    }
}
