package org.dl4jamp.onednn.capsule;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.dl4jamp.onednn.linear.ConvolutionForm;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.twin.LayerKernels.ArrayTypes;

/** Layers of capsules. */
public final class CapsuleLayers {
    private CapsuleLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(
                                PrimaryCapsules.class,
                                (layer, precision) -> without(layer),
                                PrimaryCapsulesTwin::new,
                                false)
                        .with(ArrayTypes.AS_PLANNED_TO_FLOAT),
                new LayerKernels<>(CapsuleLayer.class, CapsuleTwin::new, false).with(ArrayTypes.IN_FLOAT),
                new LayerKernels<>(CapsuleStrengthLayer.class, CapsuleStrengthTwin::new, false)
                        .with(ArrayTypes.IN_FLOAT));
    }

    private static Optional<String> without(PrimaryCapsules layer) {
        if (layer.getConvolutionMode() == ConvolutionMode.Causal) {
            return LayerKernels.because("causal windows of images");
        }
        return ConvolutionForm.of(layer).window().cropsInSame()
                ? LayerKernels.because("strides in mode Same that are larger than the kernel by two or more")
                : LayerKernels.COVERED;
    }
}
