package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.listeners.LayerStatisticsListener.Layer;
import org.dl4jamp.precision.LayerObserver;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.executioner.OpExecutioner;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.profiler.OpProfiler;

class LayerStatisticsListenerTest {
    private final MultiLayerNetwork network =
            SmallNetwork.of(new Sgd(0.1), SmallNetwork.hidden("first", 5), SmallNetwork.hidden("second", 6));
    private final DataSet data = new DataSet(Networks.uniform(1, 2, 4), Nd4j.eye(2));

    /** Numbers of each array of the last pass, by hand. */
    private static final class ByHand implements LayerObserver {
        private final Map<String, NumberStatistics> outputs = new HashMap<>();
        private final Map<String, NumberStatistics> gradients = new HashMap<>();

        @Override
        public void output(String layer, INDArray output) {
            outputs.put(layer, of(output));
        }

        @Override
        public void inputGradient(String layer, INDArray gradient, double scale) {
            gradients.put(layer, of(gradient));
        }

        private NumberStatistics of(INDArray array) {
            double zero = 0;
            double largest = 0;
            for (long i = 0; i < array.length(); i++) {
                double number = array.getDouble(i);
                zero += number == 0 ? 1 : 0;
                largest = Math.max(largest, Math.abs(number));
            }
            return new NumberStatistics(array.dataType(), array.length(), zero / array.length(), 0, 0, 0, largest);
        }
    }

    private static final AmpConfig HALF =
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();

    @Test
    void itsNumbersAreThoseByHand() {
        MixedPrecision amp = MixedPrecision.enable(network, HALF);
        LayerStatisticsListener listener = new LayerStatisticsListener(2);
        ByHand byHand = new ByHand();
        amp.observeLayers(byHand);
        network.setListeners(listener);
        network.fit(data);
        assertEquals(List.of(), listener.layers());
        network.fit(data);
        List<Layer> layers = listener.layers();
        assertEquals(
                List.of("first", "second"),
                layers.stream().map(Layer::layer).limit(2).toList());
        assertFalse(byHand.outputs.isEmpty());
        for (Layer layer : layers) {
            assertEquals(Optional.ofNullable(byHand.outputs.get(layer.layer())), layer.output());
            assertEquals(Optional.ofNullable(byHand.gradients.get(layer.layer())), layer.gradient());
        }
        assertEquals(DataType.HALF, layers.get(1).gradient().orElseThrow().type());
        network.fit(data);
        assertSame(layers, listener.layers(), "the next are those of the next report");
    }

    @Test
    void inTheIterationsBetweenNothingIsLookedAt() {
        MixedPrecision.enable(network, HALF);
        List<Boolean> looks = new ArrayList<>();
        LayerStatisticsListener listener = new LayerStatisticsListener(3) {
            @Override
            public void onForwardPass(Model model, List<INDArray> activations) {
                looks.add(isLooking());
            }
        };
        network.setListeners(listener);
        for (int i = 0; i < 7; i++) {
            network.fit(data);
        }
        assertEquals(List.of(false, false, true, false, false, true, false), looks);
    }

    /** Returns the number of operations that ND4J executes in each of four steps. */
    private List<Long> operations(TrainingListener... listeners) {
        network.setListeners(listeners);
        List<Long> counts = new ArrayList<>();
        Nd4j.getExecutioner().setProfilingMode(OpExecutioner.ProfilingMode.OPERATIONS);
        try {
            for (int i = 0; i < 4; i++) {
                long before = OpProfiler.getInstance().getInvocationsCount();
                network.fit(data);
                counts.add(OpProfiler.getInstance().getInvocationsCount() - before);
            }
        } finally {
            Nd4j.getExecutioner().setProfilingMode(OpExecutioner.ProfilingMode.DISABLED);
        }
        return counts;
    }

    @Test
    void withoutAReportNothingIsComputed() {
        MixedPrecision.enable(network, HALF);
        network.fit(data);
        List<Long> without = operations();
        assertTrue(without.get(0) > 0);
        List<Long> with = operations(new LayerStatisticsListener(3), new SkipForensics(5, 20));
        assertEquals(without.subList(0, 2), with.subList(0, 2));
        assertTrue(with.get(2) > without.get(2), () -> "reported: " + with);
        assertEquals(without.get(3), with.get(3));
        operations(new LayerStatisticsListener(5));
        List<Long> afterwards = operations();
        assertEquals(without.subList(1, 4), afterwards.subList(1, 4), "taken off before its report");
    }

    @Test
    void theFirstIterationOfAnEpochIsReportedWithAnIntervalOfOne() {
        MixedPrecision.enable(network, HALF);
        LayerStatisticsListener listener = new LayerStatisticsListener(1);
        network.setListeners(listener);
        network.fit(new ExistingDataSetIterator(List.of(data)), 1);
        assertFalse(listener.layers().isEmpty());
    }

    @Test
    void withoutMixedPrecisionThereAreNoLayers() {
        LayerStatisticsListener listener = new LayerStatisticsListener(1);
        network.setListeners(listener);
        network.fit(data);
        network.fit(data);
        assertEquals(List.of(), listener.layers());
    }

    @Test
    void theTableHasARowForEachLayer() {
        NumberStatistics numbers = new NumberStatistics(DataType.HALF, 8, 0.5, 0.25, 0.125, 0.125, 2);
        StepFigures figures = new StepFigures(
                7, 0, 1, OptionalDouble.of(1024), 8, 0, OptionalDouble.empty(), OptionalDouble.empty(), 0);
        String table = LayerStatisticsListener.table(
                figures, List.of(new Layer("first", Optional.of(numbers), Optional.empty())));
        List<String> lines = table.lines().toList();
        assertEquals("Iteration 7, loss scale 1024.0: outputs and gradients of layers", lines.get(0));
        assertEquals(3, lines.size());
        assertTrue(lines.get(2).startsWith("first        2.00    50.0 %    25.0 %     25.0 %"), lines.get(2));
    }
}
