package org.dl4jamp.engine.nd4j;

import java.util.Optional;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.dl4jamp.Precision;
import org.dl4jamp.engine.ComputeEngine;
import org.nd4j.linalg.factory.Nd4j;

/** The portable engine: HALF and BFLOAT16 wherever ND4J runs. */
public final class Nd4jEngine implements ComputeEngine {
    /** Name of this engine. */
    public static final String NAME = "nd4j";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<String> cannot(Precision precision) {
        return Optional.empty();
    }

    @Override
    public Precision automaticPrecision() {
        return onCuda() ? Precision.HALF : Precision.FLOAT;
    }

    @Override
    public String automaticReason() {
        return onCuda()
                ? "ND4J runs on CUDA"
                : "ND4J's CPU backend doesn't compute half precision fast; the module dl4j-amp-onednn, on the class path, may."
                        + " Ask for HALF or BFLOAT16 by name to try the numerics";
    }

    @Override
    public Optional<String> cannot(Layer layer, Precision precision) {
        return layer instanceof MaskZeroLayer mask
                        && mask.getUnderlying() instanceof BaseRecurrentLayer recurrent
                        && recurrent.getRnnDataFormat() == RNNFormat.NWC
                ? Optional.of("DL4J finds the time steps to mask by the class of the layer, if features come last")
                : Optional.empty();
    }

    @Override
    public String how(Layer layer, Precision precision) {
        return layer instanceof BatchNormalization
                ? "computes " + precision
                : "products of " + precision + " summed in FP32, rounded once";
    }

    @Override
    public EngineSession session(long largestLayer, boolean masterWeights) {
        return new Nd4jSession(largestLayer, masterWeights, Products.fast());
    }

    static boolean onCuda() {
        return Nd4j.getExecutioner().getClass().getSimpleName().contains("Cuda");
    }
}
