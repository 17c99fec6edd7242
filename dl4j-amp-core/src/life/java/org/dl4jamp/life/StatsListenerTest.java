package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.core.storage.Persistable;
import org.deeplearning4j.core.storage.impl.CollectionStatsStorageRouter;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.deeplearning4j.ui.model.stats.api.Histogram;
import org.deeplearning4j.ui.model.stats.api.StatsReport;
import org.deeplearning4j.ui.model.stats.api.StatsType;
import org.deeplearning4j.ui.model.stats.impl.DefaultStatsUpdateConfiguration;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.dataset.DataSet;

/** Statistics of a training run for DL4J's UI, collected by DL4J's StatsListener. */
class StatsListenerTest {
    private static final int BINS = 20;

    private static List<StatsReport> reports(Model network, DataSet data, int steps) {
        List<Persistable> updates = new ArrayList<>();
        network.setListeners(new StatsListener(
                new CollectionStatsStorageRouter(new ArrayList<>(), new ArrayList<>(), updates),
                null,
                new DefaultStatsUpdateConfiguration.Builder()
                        .reportingFrequency(1)
                        .collectHistogramsParameters(true)
                        .collectHistogramsGradients(true)
                        .collectHistogramsUpdates(true)
                        .collectHistogramsActivations(true)
                        .numHistogramBins(BINS)
                        .collectMeanMagnitudesActivations(true)
                        .collectMeanMagnitudesGradients(true)
                        .build(),
                "session",
                "worker"));
        for (int i = 0; i < steps; i++) {
            Kind.fit(network, data);
        }
        network.setListeners();
        return updates.stream().map(StatsReport.class::cast).toList();
    }

    private static void assertAlike(List<StatsReport> expected, List<StatsReport> actual, Side side) {
        assertEquals(expected.size(), actual.size());
        assertFalse(expected.isEmpty());
        for (int i = 0; i < expected.size(); i++) {
            double score = expected.get(i).getScore();
            assertEquals(score, actual.get(i).getScore(), side.ofScore(score), "score " + i);
            assertEquals(expected.get(i).getLearningRates(), actual.get(i).getLearningRates());
            for (StatsType type :
                    List.of(StatsType.Parameters, StatsType.Gradients, StatsType.Updates, StatsType.Activations)) {
                assertAlike(
                        expected.get(i).getHistograms(type), actual.get(i).getHistograms(type), side, i + " " + type);
                // ND4J adds BFLOAT16 up in BFLOAT16, where 256 + 1 is 256.
                if (type == StatsType.Activations && side.precision() == Precision.BFLOAT16) {
                    continue;
                }
                assertMagnitudesAlike(
                        expected.get(i).getMeanMagnitudes(type),
                        actual.get(i).getMeanMagnitudes(type),
                        side,
                        i + " " + type);
            }
        }
    }

    private static void assertAlike(
            Map<String, Histogram> expected, Map<String, Histogram> actual, Side side, String what) {
        assertEquals(expected.keySet(), actual.keySet(), what);
        assertFalse(expected.isEmpty(), what);
        expected.forEach((name, histogram) -> {
            String where = what + " of " + name;
            Histogram counterpart = actual.get(name);
            double span = histogram.getMax() - histogram.getMin();
            assertEquals(BINS, counterpart.getNBins(), where);
            assertEquals(histogram.getMin(), counterpart.getMin(), side.tolerance() * span + 1e-6, where);
            assertEquals(histogram.getMax(), counterpart.getMax(), side.tolerance() * span + 1e-6, where);
            assertEquals(count(histogram), count(counterpart), where);
            // What has moved to another bin, by rounding of values or of the bins' borders: of a few numbers it may be
            // most.
            if (count(histogram) < 200) {
                return;
            }
            int[] bins = histogram.getBinCounts();
            int moved = 0;
            for (int bin = 0; bin < BINS; bin++) {
                moved += Math.abs(bins[bin] - counterpart.getBinCounts()[bin]);
            }
            assertTrue(
                    moved <= 0.4 * count(histogram),
                    () -> where + ": " + Arrays.toString(bins) + " and " + Arrays.toString(counterpart.getBinCounts()));
        });
    }

    private static int count(Histogram histogram) {
        return Arrays.stream(histogram.getBinCounts()).sum();
    }

    private static void assertMagnitudesAlike(
            Map<String, Double> expected, Map<String, Double> actual, Side side, String what) {
        assertEquals(expected.keySet(), actual.keySet(), what);
        expected.forEach((name, magnitude) ->
                assertEquals(magnitude, actual.get(name), side.tolerance() * magnitude + 1e-6, what + " of " + name));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void scoresRatesHistogramsAndMagnitudesAreThoseOfFp32(Kind kind, Side side) {
        Model fp32 = kind.network();
        Model mixed = kind.network();
        MixedPrecision amp = side.enable(mixed);
        // Later the largest of a few gradients of BFLOAT16 is that of another network.
        int steps = side.precision() == Precision.BFLOAT16 ? 1 : 3;
        assertAlike(reports(fp32, Kind.data(), steps), reports(mixed, Kind.data(), steps), side);
        assertEquals(steps, amp.stepsTaken());
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Side#here")
    void activationsOfConvolutionsInTheEnginesOwnOrderAreCountedToo(Side side) {
        DataSet images = Networks.images(8, 3, 12, 3);
        Model fp32 = Networks.init(Networks.cnn());
        Model mixed = Networks.init(Networks.cnn());
        side.enable(mixed);
        Histogram expected = reports(fp32, images, 1)
                .get(0)
                .getHistograms(StatsType.Activations)
                .get("0");
        Histogram actual = reports(mixed, images, 1)
                .get(0)
                .getHistograms(StatsType.Activations)
                .get("0");
        assertEquals(8 * 8 * 12 * 12, count(expected));
        assertEquals(count(expected), count(actual));
        double span = expected.getMax() - expected.getMin();
        assertEquals(expected.getMin(), actual.getMin(), 0.01 * span);
        assertEquals(expected.getMax(), actual.getMax(), 0.01 * span);
    }
}
