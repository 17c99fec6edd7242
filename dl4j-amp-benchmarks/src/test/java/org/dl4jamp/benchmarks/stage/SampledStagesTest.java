package org.dl4jamp.benchmarks.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.junit.jupiter.api.Test;

class SampledStagesTest {
    private static Stage stage(Operation head, String... summand) {
        return new Stage(
                head,
                Optional.empty(),
                Optional.of(summand).filter(of -> of.length > 0).map(of -> of[0]),
                true,
                head.name());
    }

    private static Operation convolution(String name, String input, int size, int steps) {
        Window.Padding padding = Window.Padding.even(size / 2, size / 2);
        return new Operation.Convolution(name, List.of(input), new Window(size, size, steps, steps, padding));
    }

    private static Operation pooling(String name, String input, int size, int steps) {
        return new Operation.MaxPooling(
                name, List.of(input), new Window(size, size, steps, steps, Window.Padding.NONE));
    }

    /** The end of a stage, and the beginning of the next one. */
    @Test
    void whatIsBeforePointwiseConvolutionsTakesTheirSteps() {
        List<Stage> stages = List.of(
                stage(pooling("first", Blueprint.INPUT, 3, 2)),
                stage(convolution("large", "first", 3, 1)),
                stage(convolution("sum", "large", 1, 1), "first"),
                stage(convolution("one", "sum", 1, 2)),
                stage(convolution("other", "sum", 1, 2), "one"),
                stage(convolution("last", "other", 3, 1)));
        String copy = "first at positions of sum";
        assertEquals(
                List.of(
                        stages.get(0),
                        stage(convolution("large", "first", 3, 2)),
                        new Stage(pooling(copy, "first", 1, 2), Optional.empty(), Optional.empty(), false, copy),
                        stage(convolution("sum", "large", 1, 1), copy),
                        stage(convolution("one", "sum", 1, 1)),
                        stage(convolution("other", "sum", 1, 1), "one"),
                        stages.get(5)),
                SampledStages.of(stages));
    }

    @Test
    void poolingTakesThemToo() {
        List<Stage> stages =
                List.of(stage(pooling("first", Blueprint.INPUT, 3, 2)), stage(convolution("last", "first", 1, 3)));
        assertEquals(
                List.of(stage(pooling("first", Blueprint.INPUT, 3, 6)), stage(convolution("last", "first", 1, 1))),
                SampledStages.of(stages));
    }

    private static void assertUnchanged(Stage... stages) {
        assertEquals(List.of(stages), SampledStages.of(List.of(stages)));
    }

    @Test
    void whatIsReadAsAWholeStays() {
        Stage first = stage(convolution("first", Blueprint.INPUT, 3, 1));
        assertUnchanged(first, stage(convolution("last", "first", 3, 2)));
        assertUnchanged(first, stage(convolution("one", "first", 1, 2)), stage(convolution("last", "first", 1, 1)));
        assertUnchanged(first, stage(convolution("one", "first", 1, 2)), stage(convolution("last", "first", 1, 3)));
        assertUnchanged(
                first, stage(convolution("one", "first", 1, 2)), stage(convolution("last", "one", 3, 1), "first"));
        // The input is given as a whole.
        assertUnchanged(stage(convolution("first", Blueprint.INPUT, 1, 1)), stage(convolution("last", "first", 1, 2)));
    }
}
