package org.dl4jamp.benchmarks.dl4j;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The cases by name. */
public final class BenchmarkCases {
    private static final Pattern SINE = Pattern.compile("sine-([2-9]|[1-9][0-9]{1,3})");
    private static final int SINE_HIDDEN = 256;

    private static final List<BenchmarkCase> ALL = List.of(
            new SineCase(64, SINE_HIDDEN),
            new SineCase(128, SINE_HIDDEN),
            new SineCase(256, SINE_HIDDEN),
            new Resnet50Case(224, 8, 1000),
            new MlpCase(1024, 4096, 1000, 256),
            new LstmCase(512, 64, 32, 96),
            new LenetCase(64));

    private BenchmarkCases() {}

    /** The names in the order in which {@code all} runs them. */
    public static List<String> names() {
        return ALL.stream().map(BenchmarkCase::name).toList();
    }

    /**
     * The case of that name; besides {@link #names} there is {@code sine-N} for a grid of N by N points, 2 to 9999.
     *
     * @throws IllegalArgumentException if there is none; the message lists those that there are
     */
    public static BenchmarkCase named(String name) {
        for (BenchmarkCase each : ALL) {
            if (each.name().equals(name)) {
                return each;
            }
        }
        Matcher sine = SINE.matcher(name);
        if (sine.matches()) {
            return new SineCase(Integer.parseInt(sine.group(1)), SINE_HIDDEN);
        }
        throw new IllegalArgumentException("there is no case " + name + ": it has to be one of "
                + String.join(", ", names()) + " or sine-N for another grid, with N from 2 to 9999");
    }
}
