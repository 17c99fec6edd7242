package org.dl4jamp.inspect.speed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.inspect.speed.Task.Size;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;

/** With a clock that networks of known speed set forward. */
class StopwatchTest {
    private static final Task MEASURED = new Task(
            null, List.of(new Size("large", 10, null), new Size("middle", 4, null), new Size("small", 2, null)));
    private static final Task TINY = new Task(null, List.of(new Size("tiny", 0.01, null)));
    private static final Workload WORKLOAD = new Workload("kind", "a kind", 1, MEASURED, TINY);
    private static final Side AUTO = new Side(Precision.BFLOAT16, Optional.of("fast"), true);
    private static final Side SLOW = new Side(Precision.HALF, Optional.of("slow"), false);

    private final Map<Side, Double> seconds = new HashMap<>();
    private final List<String> log = new ArrayList<>();
    private double now;
    private int questions;
    private int open;
    private int mostOpen;

    private Trainee trainee(Task task, Side side) {
        if (!seconds.containsKey(side)) {
            throw new AmpException("no such engine");
        }
        open++;
        mostOpen = Math.max(mostOpen, open);
        return new Trainee() {
            private int steps;

            @Override
            public void step(Size size) {
                steps++;
                // The first steps are slower.
                now += seconds.get(side) / 10 * size.work() * (steps <= 2 ? 2 : 1);
                if (task.equals(MEASURED) && size.description().equals("large")) {
                    log.add(side.precision().name());
                }
            }

            @Override
            public void close() {
                open--;
            }
        };
    }

    /** Java's compiler rests at each second question. */
    private boolean othersRest() {
        now += 0.001;
        questions++;
        return questions % 2 == 0;
    }

    private WorkloadSpeed measure(double limit, Side... sides) {
        Stopwatch stopwatch = new Stopwatch(() -> (long) (now * 1e9), this::trainee, this::othersRest);
        return stopwatch.measure(WORKLOAD, List.of(sides), limit);
    }

    @Test
    void figuresAreThoseOfTheStepsAfterTheWarmUp() {
        seconds.put(Side.STOCK, 0.08);
        seconds.put(AUTO, 0.01);
        WorkloadSpeed speed = measure(10, AUTO);
        assertEquals(80, speed.stock().millis(), 1e-3);
        assertEquals(10, speed.sides().get(0).millis(), 1e-3);
        assertEquals(8, speed.sides().get(0).timesFaster(), 1e-3);
        assertEquals(8, speed.prediction(), 1e-3);
        assertEquals(1, speed.stock().timesFaster(), 1e-9);
        assertTrue(now < 10.5, "took " + now);
        assertEquals(0, open);
    }

    @Test
    void eachStepOfStockIsFollowedByStepsOfAutosSide() {
        seconds.put(Side.STOCK, 0.1);
        seconds.put(AUTO, 0.02);
        WorkloadSpeed speed = measure(8, AUTO);
        // After stock's first step with this batch, and two of the other side.
        List<String> measured = log.subList(3, log.size());
        assertEquals(List.of("FLOAT", "BFLOAT16", "BFLOAT16", "BFLOAT16", "FLOAT"), measured.subList(0, 5));
        assertTrue(speed.stock().steps() >= 10, speed.toString());
        assertTrue(speed.sides().get(0).steps() >= 3 * speed.stock().steps() - 3, speed.toString());
    }

    @Test
    void automaticSideGetsTheMostTimeAndTwoNetworksAreAliveAtOnce() {
        seconds.put(Side.STOCK, 0.2);
        seconds.put(AUTO, 0.2);
        seconds.put(SLOW, 0.2);
        WorkloadSpeed speed = measure(12, AUTO, SLOW);
        assertTrue(speed.sides().get(0).steps() > 1.5 * speed.sides().get(1).steps(), speed.toString());
        assertEquals(2, mostOpen);
    }

    @Test
    void ofASlowSideTheLastStepOfTheWarmUpCounts() {
        seconds.put(Side.STOCK, 0.1);
        seconds.put(AUTO, 0.02);
        seconds.put(SLOW, 5.0);
        SideSpeed slow = measure(10, AUTO, SLOW).sides().get(1);
        assertEquals(1, slow.steps());
        assertEquals(10_000, slow.millis(), 1e-3);
    }

    @Test
    void aCompilerThatNeverRestsIsNotWaitedForForEver() {
        seconds.put(Side.STOCK, 0.1);
        seconds.put(AUTO, 0.02);
        Stopwatch stopwatch = new Stopwatch(() -> (long) (now * 1e9), this::trainee, () -> {
            now += 0.02;
            return false;
        });
        WorkloadSpeed speed = stopwatch.measure(WORKLOAD, List.of(AUTO), 10);
        assertEquals(20, speed.sides().get(0).millis(), 1e-3);
        assertTrue(now < 11, "took " + now);
    }

    @Test
    void aSideThatCanNotBeEnabledIsReportedWithItsReason() {
        seconds.put(Side.STOCK, 0.1);
        seconds.put(SLOW, 0.2);
        WorkloadSpeed speed = measure(10, AUTO, SLOW);
        SideSpeed failed = speed.sides().get(0);
        assertNull(failed.millis());
        assertEquals("no such engine", failed.unmeasured());
        assertNull(speed.prediction());
        assertEquals(0.5, speed.sides().get(1).timesFaster(), 1e-3);
    }

    @Test
    void aSlowMachineGetsASmallerBatchOfWhichEnoughStepsFit() {
        seconds.put(Side.STOCK, 0.5);
        seconds.put(AUTO, 0.05);
        assertEquals("large", measure(10, AUTO).description());
        // By the smallest batch's slow second step, two of 6 s don't fit into the rest, two of 2.4 s do.
        seconds.put(Side.STOCK, 3.0);
        assertEquals("middle", measure(10, AUTO).description());
        seconds.put(Side.STOCK, 30.0);
        assertEquals("small", measure(10, AUTO).description());
    }

    @Test
    void whereTheTimeIsOverOnlyTheSideOfAutoIsMeasured() {
        seconds.put(Side.STOCK, 300.0);
        seconds.put(AUTO, 1.0);
        seconds.put(SLOW, 1.0);
        WorkloadSpeed speed = measure(10, AUTO, SLOW);
        assertEquals("the time was over", speed.sides().get(1).unmeasured());
        assertEquals(300, speed.prediction(), 1e-3);
    }

    @Test
    void whereAutoLeavesNetworksToDl4jNothingIsFaster() {
        seconds.put(Side.STOCK, 0.1);
        seconds.put(SLOW, 0.2);
        assertEquals(1, measure(10, SLOW).prediction(), 0);
    }

    @Test
    void theFasterHalfOfTheStepsCounts() {
        assertEquals(2, Stopwatch.typical(List.of(9.0, 1.0, 2.0, 9.0, 3.0)), 0);
        assertEquals(1.25, Stopwatch.typical(List.of(2.0, 1.0)), 1e-12);
        assertEquals(7, Stopwatch.typical(List.of(7.0)), 0);
    }
}
