package org.dl4jamp.inspect.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalDouble;
import org.dl4jamp.inspect.report.Timeline.Bin;
import org.dl4jamp.listeners.StepFigures;
import org.junit.jupiter.api.Test;

class TimelineTest {
    private static Bin iteration(int iteration, double loss, long skipped) {
        return Bin.of(
                new StepFigures(
                        iteration,
                        0,
                        loss,
                        OptionalDouble.of(8),
                        0,
                        0,
                        OptionalDouble.of(2),
                        OptionalDouble.empty(),
                        7),
                skipped);
    }

    private static Timeline of(int iterations) {
        Timeline timeline = new Timeline();
        for (int i = 0; i < iterations; i++) {
            timeline.add(iteration(i, i % 100, i % 997 == 0 ? 1 : 0));
        }
        return timeline;
    }

    @Test
    void aShortTrainingKeepsEachIteration() {
        List<Bin> bins = of(Timeline.MOST).bins();
        assertEquals(Timeline.MOST, bins.size());
        assertEquals(1, bins.get(0).iterations());
    }

    @Test
    void aLongTrainingIsThinnedAndItsCountsStay() {
        Timeline timeline = of(100_001);
        List<Bin> bins = timeline.bins();
        assertTrue(bins.size() <= Timeline.MOST && bins.size() > Timeline.MOST / 2, "bins: " + bins.size());
        assertEquals(100_001, bins.stream().mapToLong(Bin::iterations).sum());
        assertEquals(101, bins.stream().mapToLong(Bin::skipped).sum(), "0, 997, and so on up to 99,700");
        assertEquals(101, timeline.total().orElseThrow().skipped());
        long width = bins.get(0).iterations();
        for (int i = 0; i < bins.size(); i++) {
            Bin bin = bins.get(i);
            assertEquals(i * width, bin.first());
            assertTrue(i == bins.size() - 1 || bin.iterations() == width);
            double sum = 0;
            int skipped = 0;
            for (int k = bin.first(); k <= bin.last(); k++) {
                sum += k % 100;
                skipped += k % 997 == 0 ? 1 : 0;
            }
            assertEquals(sum / bin.iterations(), bin.loss().mean(), 1e-9);
            assertEquals(skipped, bin.skipped());
        }
    }

    @Test
    void fewerBinsHaveTheSameCounts() {
        List<Bin> few = of(12_345).bins(40);
        assertTrue(few.size() <= 40 && few.size() > 20, "bins: " + few.size());
        assertEquals(12_345, few.stream().mapToLong(Bin::iterations).sum());
        assertEquals(13, few.stream().mapToLong(Bin::skipped).sum());
    }

    @Test
    void aLossThatIsNoNumberIsLeftOutOfTheMean() {
        Timeline timeline = new Timeline();
        timeline.add(iteration(0, 3, 0));
        timeline.add(iteration(1, Double.NaN, 0));
        timeline.add(iteration(2, 5, 0));
        Bin total = timeline.total().orElseThrow();
        assertEquals(3, total.iterations());
        assertEquals(new Range(2, 8, 3, 5, 3, 5), total.loss());
        assertTrue(timeline.bins().get(1).loss().isEmpty());
    }

    @Test
    void stepsThatWereSkippedBetweenIterationsCountToTheLastOne() {
        Timeline timeline = of(3);
        timeline.addSkipped(2);
        assertEquals(2, timeline.bins().get(2).skipped());
        assertEquals(3, timeline.total().orElseThrow().skipped());
    }
}
