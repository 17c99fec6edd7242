package org.dl4jamp.listeners;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerObserver;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The numbers that go from layer to layer in one iteration, for listeners of your own.
 *
 * <pre>
 * LayerWatch watch = LayerWatch.begin(net, amp);    // before the iteration
 * watch.close();                                    // after it
 * watch.layers().forEach(System.out::println);
 * </pre>
 *
 * <p>Ends by itself with the next iteration. A pass that is repeated replaces the one before. Large arrays are sampled.
 */
public final class LayerWatch implements AutoCloseable {
    private final MixedPrecision amp;
    private final Sight sight;

    private LayerWatch(Model model, MixedPrecision amp) {
        this.amp = amp;
        sight = new Sight(model);
        sight.end = amp.observeLayers(sight);
    }

    /**
     * Begins to look, also in the middle of an iteration: then outputs of layers may be missing.
     *
     * @param model the network
     * @param amp its mixed precision
     */
    public static LayerWatch begin(Model model, MixedPrecision amp) {
        AmpException.ifNull(model, "model", "a MultiLayerNetwork or a ComputationGraph");
        return new LayerWatch(model, AmpException.ifNull(amp, "amp", "the MixedPrecision of the network"));
    }

    /** Ends it. Closing it twice does nothing. */
    @Override
    public void close() {
        sight.end.run();
    }

    /**
     * Returns the layers that were seen, in the order of the forward pass.
     *
     * @throws RuntimeException if an array couldn't be read; the step went on
     */
    public List<LayerStatisticsListener.Layer> layers() {
        if (sight.failure != null) {
            throw sight.failure;
        }
        List<LayerStatisticsListener.Layer> all = new ArrayList<>();
        amp.plan().rows().forEach(row -> {
            Optional<NumberStatistics> output = Optional.ofNullable(sight.outputs.get(row.name()));
            Optional<NumberStatistics> gradient = Optional.ofNullable(sight.gradients.get(row.name()));
            if (output.isPresent() || gradient.isPresent()) {
                all.add(new LayerStatisticsListener.Layer(row.name(), output, gradient));
            }
        });
        return all;
    }

    /**
     * Returns the scale that a layer in HALF has chosen for itself, empty if it has none of its own.
     *
     * @param layer its name in the plan
     */
    public OptionalDouble scale(String layer) {
        Double scale = sight.scales.get(layer);
        return scale == null ? OptionalDouble.empty() : OptionalDouble.of(scale);
    }

    /** The observer. */
    private static final class Sight implements LayerObserver {
        private final Model model;
        private OptionalInt iteration = OptionalInt.empty();
        private Runnable end = () -> {};
        private final Map<String, NumberStatistics> outputs = new LinkedHashMap<>();
        private final Map<String, NumberStatistics> gradients = new LinkedHashMap<>();
        private final Map<String, Double> scales = new LinkedHashMap<>();
        private RuntimeException failure;

        Sight(Model model) {
            this.model = model;
        }

        @Override
        public void output(String layer, INDArray output) {
            look(layer, output, outputs);
        }

        @Override
        public void inputGradient(String layer, INDArray gradient, double scale) {
            look(layer, gradient, gradients);
        }

        @Override
        public void layerScale(String layer, double scale) {
            scales.put(layer, scale);
        }

        private void look(String layer, INDArray array, Map<String, NumberStatistics> into) {
            int present = BaseOptimizer.getIterationCount(model);
            if (iteration.orElse(present) != present) {
                end.run();
                return;
            }
            iteration = OptionalInt.of(present);
            // Training never stops because of a look at it. Who reads the layers gets the exception.
            try {
                if (failure == null) {
                    into.put(layer, NumberStatistics.of(array));
                }
            } catch (RuntimeException e) {
                failure = e;
            }
        }
    }
}
