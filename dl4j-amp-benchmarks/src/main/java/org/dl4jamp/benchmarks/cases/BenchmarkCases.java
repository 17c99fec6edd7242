package org.dl4jamp.benchmarks.cases;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.dl4jamp.benchmarks.side.Schedule;

/** The cases by name. */
public final class BenchmarkCases {
    private static final Pattern SINE = Pattern.compile("sine-([2-9]|[1-9][0-9]{1,3})");
    private static final int SINE_HIDDEN = 256;

    private static final BenchmarkCase SINE_128 = new SineCase(128, SINE_HIDDEN);
    private static final BenchmarkCase RESNET50 = new Resnet50Case(224, 8, 1000);
    private static final BenchmarkCase MLP =
            new MlpCase("mlp", List.of(1024, 4096, 4096, 1000), 256, Schedule.ofSteps(4, 4));
    private static final BenchmarkCase LSTM = new LstmCase("lstm", 2, 512, 64, 32, 96, Schedule.ofSteps(3, 4));
    private static final BenchmarkCase LENET = new LenetCase("lenet", 64, 1e-3, Schedule.ofSteps(10, 10));

    /** Layers of sequences besides the LSTM. */
    private static final List<BenchmarkCase> SEQUENCES = List.of(
            new AttentionCase("attention", 2, 8, 512, 2048, 64, 32, Schedule.ofSteps(3, 4)),
            new AttentionCase("attention-512", 2, 8, 512, 2048, 512, 8, Schedule.ofSteps(2, 3)),
            new TextGenerationCase(50, 64, 77, Schedule.ofSteps(3, 4)));

    /** A network whose output has as many pixels as its input. */
    private static final BenchmarkCase UNET = new UnetCase(128, 4, 32);

    /** The case for inference only. */
    private static final BenchmarkCase LSTM_STEP = new TimeStepsCase("lstm-step", LSTM);

    private static final List<BenchmarkCase> LARGE = List.of(
            new SineCase(64, SINE_HIDDEN), SINE_128, new SineCase(256, SINE_HIDDEN), RESNET50, MLP, LSTM, LENET);

    /** Networks with such short steps that the overhead decides. */
    private static final List<BenchmarkCase> SMALL = List.of(
            new MlpCase("iris", List.of(4, 10, 3), 16, Schedule.ofSteps(20, 20)),
            new MlpCase("mlp-small", List.of(784, 100, 10), 64, Schedule.ofSteps(20, 20)),
            new LstmCase("lstm-32", 1, 32, 20, 16, 16, Schedule.ofSteps(20, 20)),
            new LenetCase("lenet-1", 1, 1e-6, Schedule.ofSteps(5, 5)));

    /** All networks of DL4J's zoo, without floors. */
    private static final List<BenchmarkCase> ZOO = ZooCase.all();

    private static final List<BenchmarkCase> INFERENCE =
            List.of(SINE_128, RESNET50, RESNET50.ofBatch(1), MLP, LSTM, LSTM_STEP, LENET.ofBatch(1));

    private static final Map<String, List<BenchmarkCase>> GROUPS = new LinkedHashMap<>();

    static {
        GROUPS.put("all", LARGE);
        GROUPS.put("sequences", SEQUENCES);
        GROUPS.put("small", SMALL);
        GROUPS.put("zoo", ZOO);
    }

    private BenchmarkCases() {}

    /**
     * Returns the names of all cases: those of the groups {@code all} and {@code sequences}, {@code unet}, those of the
     * groups {@code small} and {@code zoo}, then what is for inference only.
     */
    public static List<String> names() {
        return cases().map(BenchmarkCase::name).toList();
    }

    /** Returns whether it's the name of several cases. */
    public static boolean isGroup(String name) {
        return GROUPS.containsKey(name);
    }

    /** Returns whether it's the name of the group of all networks of DL4J's zoo. */
    public static boolean isZoo(String name) {
        return name.equals("zoo");
    }

    /**
     * Returns the case, or those of the group, of a name; besides {@link #names} there is {@code sine-N} for a grid of
     * N by N points, 2 to 9999.
     *
     * @throws IllegalArgumentException if there is none, or it's for inference only; the message lists those that there
     *     are
     */
    public static List<BenchmarkCase> ofTraining(String name) {
        if (name.equals(LSTM_STEP.name())) {
            throw new IllegalArgumentException("the case " + name + " infers only: add --inference, or train lstm");
        }
        return isGroup(name) ? GROUPS.get(name) : List.of(named(name));
    }

    /**
     * Returns the same for inference, where {@code all} are fewer sizes and more batches.
     *
     * @throws IllegalArgumentException if there is none, or it's for training only; the message lists those that there
     *     are
     */
    public static List<BenchmarkCase> ofInference(String name) {
        List<BenchmarkCase> cases =
                name.equals("all") ? INFERENCE : isGroup(name) ? GROUPS.get(name) : List.of(named(name));
        if (!cases.stream().allMatch(BenchmarkCase::hasBlueprint)) {
            throw new IllegalArgumentException("the case " + name + " trains only: leave out --inference");
        }
        return cases;
    }

    /**
     * Returns the case of a name.
     *
     * @throws IllegalArgumentException if there is none; the message lists those that there are
     */
    public static BenchmarkCase named(String name) {
        Matcher sine = SINE.matcher(name);
        return cases().filter(each -> each.name().equals(name))
                .findFirst()
                .or(() -> sine.matches()
                        ? Optional.of(new SineCase(Integer.parseInt(sine.group(1)), SINE_HIDDEN))
                        : Optional.empty())
                .orElseThrow(() -> new IllegalArgumentException(
                        "there is no case " + name + ": it has to be one of " + String.join(", ", names())
                                + ", sine-N for another grid, with N from 2 to 9999, or a group: "
                                + String.join(", ", GROUPS.keySet())));
    }

    private static Stream<BenchmarkCase> cases() {
        return Stream.of(LARGE, SEQUENCES, List.of(UNET), SMALL, ZOO, List.of(LSTM_STEP))
                .flatMap(List::stream);
    }
}
