package org.dl4jamp.onednn.output;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.activations.impl.ActivationRReLU;

/** Output layers that multiply by weights, and losses. */
public final class OutputLayers {
    private static final String OTHER_ROWS =
            "RReLU's random numbers are those of other time steps: DL4J's rows are by time, these are by example";

    private OutputLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(OutputLayer.class, OutputLayers::output, OutputTwin<OutputLayer>::new, true)
                        .with(LayerKernels.ArrayTypes.AS_PLANNED_TO_FLOAT),
                new LayerKernels<>(CenterLossOutputLayer.class, OutputLayers::centers, CenterLossTwin::new, false)
                        .with(LayerKernels.ArrayTypes.AS_PLANNED_TO_FLOAT),
                new LayerKernels<>(RnnOutputLayer.class, OutputLayers::outputOfSequences, RnnOutputTwin::new, true)
                        .with(LayerKernels.ArrayTypes.AS_PLANNED_TO_FLOAT),
                new LayerKernels<>(LossLayer.class, RowLossTwin::new, false)
                        .with(LayerKernels.ArrayTypes.SUMMED_IN_FLOAT),
                new LayerKernels<>(CnnLossLayer.class, OutputLayers::images, CnnLossTwin::new, false)
                        .with(LayerKernels.ArrayTypes.SUMMED_IN_FLOAT),
                new LayerKernels<>(RnnLossLayer.class, OutputLayers::sequences, RnnLossTwin::new, false)
                        .with(LayerKernels.ArrayTypes.SUMMED_IN_FLOAT),
                new LayerKernels<>(Cnn3DLossLayer.class, Cnn3dLossTwin::new, false)
                        .in(layer -> ChannelAxis.of(layer.getDataFormat()))
                        .with(LayerKernels.ArrayTypes.SUMMED_IN_FLOAT),
                new LayerKernels<>(
                                Yolo2OutputLayer.class,
                                (layer, precision) -> BoxLoss.without(layer),
                                YoloTwin::new,
                                false)
                        .in(layer -> ChannelAxis.of(layer.getFormat()))
                        .with(LayerKernels.ArrayTypes.SUMMED_IN_FLOAT),
                new LayerKernels<>(OCNNOutputLayer.class, OutputLayers::oneClass, OneClassTwin::new, false)
                        .with(LayerKernels.ArrayTypes.IN_FLOAT));
    }

    public static boolean isOutput(Layer layer) {
        return layer.getClass() == OutputLayer.class
                || layer.getClass() == RnnOutputLayer.class
                || layer.getClass() == CenterLossOutputLayer.class;
    }

    /** Returns the plan's reason. */
    public static String how(Precision precision) {
        return "computes " + precision + " with sums and loss in FP32";
    }

    private static Optional<String> images(CnnLossLayer layer, Precision precision) {
        return layer.getFormat() == CNN2DFormat.NCHW
                ? LayerKernels.COVERED
                : Optional.of("DL4J takes pixels for channels in the score of CnnLossLayer in format NHWC");
    }

    private static Optional<String> sequences(RnnLossLayer layer, Precision precision) {
        if (draws(layer)) {
            return Optional.of(OTHER_ROWS);
        }
        return layer.getRnnDataFormat() == RNNFormat.NCW
                ? LayerKernels.COVERED
                : Optional.of("DL4J takes the input for labels in the score of RnnLossLayer in format NWC");
    }

    private static Optional<String> oneClass(OCNNOutputLayer layer, Precision precision) {
        if (precision.isHalf()) {
            return LayerKernels.because(
                    "OCNNOutputLayer in " + precision + ", which rounds outputs near its threshold");
        }
        return layer.getIDropout() == null
                ? Noise.without(layer)
                : Optional.of("DL4J throws in the backward pass of OCNNOutputLayer with dropout");
    }

    private static Optional<String> centers(CenterLossOutputLayer layer, Precision precision) {
        if (layer.getIDropout() != null) {
            return Optional.of("DL4J leaves dropout out of the backward pass of CenterLossOutputLayer");
        }
        return layer.hasBias()
                ? output(layer, precision)
                : Optional.of("DL4J trains the bias of a CenterLossOutputLayer without bias");
    }

    private static Optional<String> outputOfSequences(RnnOutputLayer layer, Precision precision) {
        return draws(layer) ? Optional.of(OTHER_ROWS) : output(layer, precision);
    }

    private static boolean draws(BaseLayer layer) {
        return layer.getActivationFn() instanceof ActivationRReLU;
    }

    private static Optional<String> output(BaseOutputLayer layer, Precision precision) {
        return Noise.without(layer);
    }
}
