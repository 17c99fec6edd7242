package org.dl4jamp.onednn.samediff;

import java.util.Arrays;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.precision.Precision;

/** Users' layers of SameDiff operations. DL4J's own either have kernels or multiply no matrices. */
public final class SameDiffLayers {
    private static final LayerKernels<SameDiffLayer> KERNELS =
            new LayerKernels<>(SameDiffLayer.class, SameDiffLayers::without, SameDiffTwin::new, false);

    private static final String DL4J = "org.deeplearning4j.";

    private SameDiffLayers() {}

    /** Returns the kernels for a layer that DL4J's class for SameDiff computes. */
    public static Optional<LayerKernels<?>> of(Layer layer) {
        return isComputedBySameDiff(layer) ? Optional.of(KERNELS) : Optional.empty();
    }

    /** Returns whether a layer is one whose graph SameDiff runs, unless the class makes another layer of itself. */
    public static boolean isComputedBySameDiff(Layer layer) {
        return layer instanceof SameDiffLayer
                && !layer.getClass().getName().startsWith(DL4J)
                && Arrays.stream(layer.getClass().getMethods())
                        .filter(method -> method.getName().equals("instantiate"))
                        .allMatch(method -> method.getDeclaringClass() == SameDiffLayer.class);
    }

    private static Optional<String> without(SameDiffLayer layer, Precision precision) {
        return precision == Precision.FLOAT
                ? LayerKernels.COVERED
                : Optional.of("SameDiff computes " + layer.getClass().getSimpleName() + " in FLOAT only");
    }

    /** Returns the plan's reason. */
    public static String how() {
        return "FP32, by SameDiff, with products of matrices through oneDNN";
    }
}
