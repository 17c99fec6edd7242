package org.dl4jamp.benchmarks.dl4j;

import java.util.stream.Stream;

/** All cases, so small that they train in a moment. */
public final class TinyCases {
    private TinyCases() {}

    public static Stream<BenchmarkCase> all() {
        return Stream.of(
                new SineCase(8, 16),
                new MlpCase(20, 30, 7, 5),
                new LstmCase(9, 6, 4, 5),
                new LenetCase(3),
                new Resnet50Case(160, 2, 10));
    }
}
