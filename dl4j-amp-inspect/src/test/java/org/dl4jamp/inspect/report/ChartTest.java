package org.dl4jamp.inspect.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.dl4jamp.inspect.report.Timeline.Bin;
import org.dl4jamp.listeners.StepFigures;
import org.junit.jupiter.api.Test;

class ChartTest {
    private static List<Bin> bins(double... losses) {
        List<Bin> bins = new ArrayList<>();
        for (int i = 0; i < losses.length; i++) {
            OptionalDouble scale = OptionalDouble.of(Math.scalb(1.0, 10 - i));
            bins.add(Bin.of(
                    new StepFigures(i, 0, losses[i], scale, 0, 0, OptionalDouble.empty(), OptionalDouble.empty(), 7),
                    i == 1 ? 3 : 0));
        }
        return bins;
    }

    @Test
    void aLineGoesThroughTheMeansWithGapsWhereThereIsNone() {
        Chart chart = Chart.ofLoss(bins(0, 5, Double.NaN, 10, 10));
        assertEquals("M0.0 1000.0h0L250.0 500.0M750.0 0.0h0L1000.0 0.0", chart.line());
        assertEquals("", chart.band());
        assertEquals(List.of(new Chart.Mark("250.0", "Iteration 1: 3 steps skipped")), chart.marks());
        assertEquals("Loss: first 0, last 10, smallest 0, largest 10", chart.alternative());
    }

    @Test
    void aLossThatChangesMuchIsDrawnLogarithmically() {
        Chart chart = Chart.ofLoss(bins(100, 10, 1));
        assertEquals("M0.0 0.0h0L500.0 500.0L1000.0 1000.0", chart.line());
        assertEquals(
                List.of(new Chart.Tick("0.00", "1"), new Chart.Tick("50.00", "10"), new Chart.Tick("100.00", "100")),
                chart.vertical());
    }

    @Test
    void theLossScaleMovesInSteps() {
        // 1024, 512 and 256 on an axis from 128 to 1024.
        Chart chart = Chart.ofScale(bins(1, 1, 1));
        assertEquals("M0.0 0.0H0.0H500.0V333.3H500.0H1000.0V666.7H1000.0", chart.line());
        assertEquals(
                List.of("128", "256", "512", "1,024"),
                chart.vertical().stream().map(Chart.Tick::label).toList());
    }

    @Test
    void binsOfSeveralIterationsHaveABand() {
        List<Bin> single = bins(0, 10, 4, 6);
        List<Bin> pairs =
                List.of(single.get(0).then(single.get(1)), single.get(2).then(single.get(3)));
        Chart chart = Chart.ofLoss(pairs);
        assertEquals("M166.7 500.0h0L833.3 500.0", chart.line());
        assertEquals("M166.7 0.0L833.3 400.0L833.3 600.0L166.7 1000.0Z", chart.band());
        assertEquals("Iterations 0 to 1: 3 steps skipped", chart.marks().get(0).text());
    }

    @Test
    void ticksAreRoundNumbersWithinTheAxis() {
        for (double most : new double[] {1e-7, 0.3, 1, 7, 12_345, 9e11}) {
            Axis axis = Axis.linear(0, most);
            assertTrue(axis.most() >= most && axis.least() <= 0);
            List<Double> ticks = axis.ticks();
            assertTrue(ticks.size() >= 3 && ticks.size() <= 9, most + ": " + ticks);
            ticks.forEach(tick -> assertTrue(axis.at(tick) >= 0 && axis.at(tick) <= 1));
        }
        assertEquals(List.of(5.0), Axis.exact(5, 5).ticks());
        assertEquals(0.5, Axis.exact(5, 5).at(5));
    }

    @Test
    void numbersHaveFourDigitsAndUnits() {
        assertEquals("12,345", Numbers.number(12_345));
        assertEquals("0.01235", Numbers.number(0.012346));
        assertEquals("1.2e-7", Numbers.number(1.2e-7));
        assertEquals("1e-5", Numbers.number(1e-5));
        assertEquals("1e10", Numbers.number(1e10));
        assertEquals("-Infinity", Numbers.number(Double.NEGATIVE_INFINITY));
        assertEquals("2^-14", Numbers.scale(0x1p-14));
        assertEquals("65,536", Numbers.scale(65_536));
        assertEquals("<0.1 %", Numbers.percent(1e-6));
        assertEquals(">99.9 %", Numbers.percent(0.99999));
        assertEquals("100 %", Numbers.percent(1));
        assertEquals("999 µs", Numbers.time(0.000999));
        assertEquals("12.3 ms", Numbers.time(0.01234));
        assertEquals("1 s", Numbers.time(0.9999));
        assertEquals("2 min 5 s", Numbers.time(125));
        assertEquals("2 h 1 min", Numbers.time(7270));
        assertEquals("1.23 GB", Numbers.bytes(1_234_000_000));
    }
}
