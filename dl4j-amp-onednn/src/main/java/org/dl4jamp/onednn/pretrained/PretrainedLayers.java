package org.dl4jamp.onednn.pretrained;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.BasePretrainNetwork;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.twin.Noise;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;

/** Layers that networks may train without labels. */
public final class PretrainedLayers {
    private PretrainedLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(
                        AutoEncoder.class, (layer, precision) -> autoEncoder(layer), AutoEncoderTwin::new, false),
                new LayerKernels<>(
                        VariationalAutoencoder.class,
                        (layer, precision) -> variational(layer),
                        VariationalTwin::new,
                        false));
    }

    private static Optional<String> autoEncoder(AutoEncoder layer) {
        return layer.getIDropout() == null
                ? common(layer, layer.getActivationFn())
                // DL4J's layer drops out in the backward pass alone.
                : LayerKernels.because("dropout of an AutoEncoder");
    }

    private static Optional<String> variational(VariationalAutoencoder layer) {
        if (layer.getNumSamples() > 1 && layer.getActivationFn() instanceof ActivationSoftmax) {
            // DL4J's layer multiplies by the derivative of the softmax's sum there, which is zero.
            return LayerKernels.because("softmax with several samples");
        }
        return common(layer, layer.getActivationFn()).or(() -> common(layer, layer.getPzxActivationFn()));
    }

    private static Optional<String> common(BasePretrainNetwork layer, IActivation function) {
        if (Noise.isIn(layer)) {
            // DL4J's layer keeps the noise of its first step for all steps of pretraining.
            return LayerKernels.because("weight noise of layers that can be pretrained");
        }
        return Stage.has(function)
                ? LayerKernels.COVERED
                : LayerKernels.because("the function " + function + " in layers that can be pretrained");
    }
}
