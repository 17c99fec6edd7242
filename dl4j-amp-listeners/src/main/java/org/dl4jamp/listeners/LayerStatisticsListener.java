package org.dl4jamp.listeners;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.MixedPrecision;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks every few iterations at the numbers that go from layer to layer, forward and backward, in the precision that
 * they have there. Shows which layers underflow, and which are about to overflow. Logs them at INFO:
 *
 * <pre>
 * Iteration 200, loss scale 32768.0: outputs and gradients of layers
 * layer     largest      zero subnormal near limit     largest      zero subnormal near limit
 * 0            3.71    48.2 %     0.0 %      0.0 %      0.0214    51.1 %     0.4 %      0.0 %
 * </pre>
 *
 * <p>Gradients are those of a layer's input, with the loss scale. Layers that DL4J computes itself have no row. Large
 * arrays are sampled. In the iterations between nothing is computed.
 */
public class LayerStatisticsListener extends FiguresListener {
    /**
     * The numbers of a layer in one step.
     *
     * @param layer its name in the plan
     * @param output of its output; empty for output layers, whose output training doesn't compute
     * @param gradient of the gradient of its input, with the loss scale; empty where nothing reads that
     */
    public record Layer(String layer, Optional<NumberStatistics> output, Optional<NumberStatistics> gradient) {}

    private final Logger log;
    private LayerWatch watch;
    private List<Layer> layers = List.of();

    /** Looks at one iteration of every {@code interval}. */
    public LayerStatisticsListener(int interval) {
        this(interval, LoggerFactory.getLogger(LayerStatisticsListener.class));
    }

    LayerStatisticsListener(int interval, Logger log) {
        super(interval);
        this.log = log;
    }

    /** Returns the layers of the last iteration that was looked at, in the order of the forward pass. */
    public List<Layer> layers() {
        return layers;
    }

    @Override
    protected void nextIsReported(Model model) {
        end();
        MixedPrecision.of(model).ifPresent(amp -> watch = LayerWatch.begin(model, amp));
    }

    @Override
    protected void report(StepFigures figures) throws Exception {
        LayerWatch ended = watch;
        end();
        if (ended == null) {
            layers = List.of();
            return;
        }
        layers = ended.layers();
        log.info(table(figures, layers));
    }

    /** Returns whether the iteration in progress is looked at. */
    final boolean isLooking() {
        return watch != null;
    }

    private void end() {
        if (watch != null) {
            watch.close();
            watch = null;
        }
    }

    static String table(StepFigures figures, List<Layer> layers) {
        int width = layers.stream().mapToInt(layer -> layer.layer().length()).reduce("layer".length(), Math::max);
        String format = "%n%-" + width + "s  %s  %s";
        String columns = String.format("%10s %9s %9s %10s", "largest", "zero", "subnormal", "near limit");
        StringBuilder table = new StringBuilder(String.format(
                Locale.ROOT,
                "Iteration %d, loss scale %s: outputs and gradients of layers",
                figures.iteration(),
                figures.lossScale().orElse(1)));
        table.append(String.format(Locale.ROOT, format, "layer", columns, columns));
        for (Layer layer : layers) {
            table.append(
                    String.format(Locale.ROOT, format, layer.layer(), cells(layer.output()), cells(layer.gradient()))
                            .stripTrailing());
        }
        return table.toString();
    }

    private static String cells(Optional<NumberStatistics> numbers) {
        return numbers.map(of -> String.format(
                        Locale.ROOT,
                        "%10.3g %7.1f %% %7.1f %% %8.1f %%",
                        of.largest(),
                        100 * of.zero(),
                        100 * of.subnormal(),
                        100 * (of.nearOverflow() + of.nonFinite())))
                .orElse(String.format("%10s %9s %9s %10s", "", "", "", ""));
    }
}
