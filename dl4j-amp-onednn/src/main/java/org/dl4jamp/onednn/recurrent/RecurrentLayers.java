package org.dl4jamp.onednn.recurrent;

import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.AbstractLSTM;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.dl4jamp.onednn.cell.LstmCell;
import org.dl4jamp.onednn.cell.RecurrentCell;
import org.dl4jamp.onednn.cell.SimpleRnnCell;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationRReLU;

/** Layers that go through sequences step by step. */
public final class RecurrentLayers {
    private static final LayerKernels<LSTM> LSTMS =
            kernels(LSTM.class, RecurrentLayers::lstm, LstmCell.GATES, LstmCell::new);

    private static final LayerKernels<GravesLSTM> GRAVES_LSTMS =
            kernels(GravesLSTM.class, RecurrentLayers::lstm, LstmCell.GATES, LstmCell::new);

    private static final LayerKernels<SimpleRnn> SIMPLE_RNNS =
            kernels(SimpleRnn.class, RecurrentLayers::simpleRnn, SimpleRnnCell.GATES, SimpleRnnCell::new);

    private RecurrentLayers() {}

    private static <L extends BaseRecurrentLayer> LayerKernels<L> kernels(
            Class<L> type,
            LayerKernels.Limits<L> limits,
            int gates,
            BiFunction<RecurrentCell.Setup, L, RecurrentCell> cells) {
        LayerKernels.Maker twin = (conf, arrays, context) -> new RecurrentTwin(
                conf, arrays, context, gates, setup -> cells.apply(setup, type.cast(conf.getLayer())));
        return new LayerKernels<>(type, limits, twin, true);
    }

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                LSTMS,
                GRAVES_LSTMS,
                SIMPLE_RNNS,
                new LayerKernels<>(Bidirectional.class, RecurrentLayers::bidirectional, BidirectionalTwin::new, false)
                        .dropping(DirectionDropout::of),
                new LayerKernels<>(
                        GravesBidirectionalLSTM.class,
                        RecurrentLayers::gravesBidirectional,
                        GravesBidirectionalTwin::new,
                        false));
    }

    /**
     * Returns the kernels for a direction of a bidirectional layer. Subclasses may compute anything, and have nothing.
     */
    static Optional<LayerKernels<?>> direction(Layer layer) {
        return Stream.<LayerKernels<?>>of(LSTMS, GRAVES_LSTMS, SIMPLE_RNNS)
                .filter(kernels -> kernels.type() == layer.getClass())
                .findFirst();
    }

    private static Optional<String> bidirectional(Bidirectional layer, Precision precision) {
        if (DirectionDropout.drops(layer) && layer.getRNNDataFormat() == RNNFormat.NWC) {
            return LayerKernels.because("dropout of each direction by itself in format NWC");
        }
        if (DirectionDropout.isIn(layer) && layer.getFwd() instanceof BaseLayer fwd && Noise.isIn(fwd)) {
            return LayerKernels.because("dropout of each direction, between whose draws DL4J draws weight noise");
        }
        return direction(layer.getFwd())
                .map(kernels -> kernels.without(layer.getFwd(), precision))
                .orElseGet(() -> LayerKernels.because(
                        "a bidirectional " + layer.getFwd().getClass().getSimpleName()));
    }

    private static Optional<String> gravesBidirectional(GravesBidirectionalLSTM layer, Precision precision) {
        return without(layer, layer.getActivationFn()).or(() -> without(layer, layer.getGateActivationFn()));
    }

    private static Optional<String> lstm(AbstractLSTM layer, Precision precision) {
        return without(layer, layer.getActivationFn()).or(() -> without(layer, layer.getGateActivationFn()));
    }

    private static Optional<String> simpleRnn(SimpleRnn layer, Precision precision) {
        return layer.hasLayerNorm()
                ? LayerKernels.because("layer normalization")
                : without(layer, layer.getActivationFn());
    }

    private static Optional<String> without(BaseLayer layer, IActivation activation) {
        Optional<String> ofNoise = Noise.without(layer);
        if (ofNoise.isPresent()) {
            return ofNoise;
        }
        boolean drawsRandomNumbers = activation instanceof ActivationRReLU;
        return !drawsRandomNumbers
                ? LayerKernels.COVERED
                : LayerKernels.because("activation function " + activation + " in recurrent layers");
    }
}
