package org.dl4jamp.inspect.compare;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.compare.numbers.NumberRange;
import org.dl4jamp.inspect.compare.numbers.RangeSums;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerObserver;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;

/**
 * Passes of a network in mixed precision, as training makes them: with the loss scale, which is lowered where gradients
 * overflow. Each begins with the network's own parameters. Closing it restores the network.
 */
final class MixedPasses implements AutoCloseable {
    private final ComparedNetwork network;
    private final MixedPrecision amp;
    private final PrecisionPlan plan;
    private final Gradients gradients = new Gradients();
    private final InputGradients inputGradients = new InputGradients();
    private final List<String> skips = new ArrayList<>();
    private final double firstScale;
    private final String engine;
    private double lastScale;

    /** @throws org.dl4jamp.precision.AmpException if mixed precision can't be enabled with these settings */
    MixedPasses(ComparedNetwork network, AmpConfig config) {
        this.network = network;
        network.restoreParameters();
        listen(List.of(gradients));
        AmpConfig patient =
                config.toBuilder().maxConsecutiveSkips(Integer.MAX_VALUE).build();
        amp = MixedPrecision.enable(network.model(), patient);
        plan = amp.plan();
        engine = amp.engine();
        firstScale = amp.lossScale();
        lastScale = firstScale;
        amp.observeLayers(inputGradients);
        amp.onSkip((skip, iteration) -> skips.add(skip.what()
                + skip.first().map(first -> ", first those of " + first).orElse("")));
    }

    private void listen(List<BaseTrainingListener> listeners) {
        BaseTrainingListener[] all = listeners.toArray(BaseTrainingListener[]::new);
        if (network.model() instanceof MultiLayerNetwork layers) {
            layers.setListeners(all);
        } else {
            ((ComputationGraph) network.model()).setListeners(all);
        }
    }

    /** Takes the gradients of a step before the updater does; of a pass that is repeated the last. */
    private final class Gradients extends BaseTrainingListener {
        private Map<String, Map<String, INDArray>> last = Map.of();

        @Override
        public void onGradientCalculation(Model model) {
            last = network.gradients();
        }
    }

    /** Of a pass that is repeated the last one counts. */
    private static final class InputGradients implements LayerObserver {
        private final Map<String, RangeSums> earlier = new LinkedHashMap<>();
        private Map<String, RangeSums> last = new LinkedHashMap<>();

        @Override
        public void output(String layer, INDArray output) {
            // The activations are those of a pass that computes all of them.
        }

        @Override
        public void inputGradient(String layer, INDArray gradient, double scale) {
            RangeSums sums = new RangeSums(gradient.dataType());
            sums.add(gradient);
            last.put(layer, sums);
        }

        void endBatch() {
            last.forEach((layer, sums) -> earlier.merge(layer, sums, (all, more) -> {
                all.add(more);
                return all;
            }));
            last = new LinkedHashMap<>();
        }
    }

    /** Runs a batch. Activations of layers that are computed in one pass with the next aren't in the result. */
    Pass run(MultiDataSet batch) {
        network.restoreParameters();
        Map<String, INDArray> activations = network.activations(batch);
        plan.fusions().forEach(fusion -> activations.remove(fusion.first()));
        network.fit(batch);
        inputGradients.endBatch();
        lastScale = amp.lossScale();
        return new Pass(activations, gradients.last, network.model().score());
    }

    PrecisionPlan plan() {
        return plan;
    }

    String engine() {
        return engine;
    }

    /** Returns the loss scale before the first batch. */
    double firstScale() {
        return firstScale;
    }

    /** Returns the loss scale after the last batch. */
    double lastScale() {
        return lastScale;
    }

    /** Returns the reasons of the batches whose steps were skipped. */
    List<String> skips() {
        return List.copyOf(skips);
    }

    /** Returns the range of the gradients of each layer's input, with the loss scale, in the type that they have. */
    Map<String, NumberRange> inputGradients() {
        return inputGradients.earlier.entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, entry -> entry.getValue().range()));
    }

    @Override
    public void close() {
        amp.close();
        listen(List.of());
        network.restoreParameters();
    }
}
