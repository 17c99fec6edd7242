package org.dl4jamp.engine.nd4j;

import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.policy.LayerTable;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The portable engine: HALF and BFLOAT16 wherever ND4J runs. */
public final class Nd4jEngine implements ComputeEngine {
    @Override
    public String name() {
        return Engines.PORTABLE;
    }

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<String> cannot(Precision precision) {
        return precision == Precision.BFLOAT16 && onCuda() && !Bfloat16OnCuda.IS_RIGHT
                ? Optional.of("ND4J's CUDA backend multiplies BFLOAT16 arrays by a number, or adds one, wrongly on this"
                        + " GPU; HALF is right there")
                : Optional.empty();
    }

    /** The result of the check on this process's GPU. */
    private static final class Bfloat16OnCuda {
        static final boolean IS_RIGHT = Bfloat16Check.isRight(INDArray::mul, INDArray::add);

        private Bfloat16OnCuda() {}
    }

    @Override
    public Precision automaticPrecision() {
        return Worth.of(onCuda(), Products::fast).precision();
    }

    @Override
    public String automaticReason() {
        return Worth.of(onCuda(), Products::fast).reason();
    }

    @Override
    public Optional<String> cannot(Layer layer, Precision precision) {
        return layer instanceof MaskZeroLayer mask
                        && mask.getUnderlying() instanceof BaseRecurrentLayer recurrent
                        && recurrent.getRnnDataFormat() == RNNFormat.NWC
                        && !LayerTable.lists(recurrent.getClass())
                ? Optional.of("DL4J finds the time steps to mask by the class of the layer, if features come last")
                : Optional.empty();
    }

    @Override
    public boolean computes(GraphVertex vertex, Precision precision) {
        return precision.isHalf() && vertex.getClass() == AttentionVertex.class;
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

    @Override
    public EngineSession inference(long largestLayer) {
        return new Nd4jSession(0, true, Products.fast());
    }

    /** The precision that pays where ND4J runs, and why. */
    record Worth(Precision precision, String reason) {
        static final Worth FAST_PRODUCTS = new Worth(Precision.HALF, "ND4J runs on CUDA");

        /** HALF would be cast to FP32 for each product. */
        static final Worth CASTS_ONLY = new Worth(
                Precision.FLOAT,
                "ND4J runs on CUDA but doesn't multiply HALF matrices into FP32 on this GPU, so HALF would only add"
                        + " casts. Ask for HALF by name to halve what activations take");

        /** The CPU backend's operations on HALF and BFLOAT16 are slow. */
        static final Worth NUMERICS_ONLY = new Worth(
                Precision.FLOAT,
                "ND4J's CPU backend doesn't compute half precision fast; the module dl4j-amp-onednn, on the class"
                        + " path, may. Ask for HALF or BFLOAT16 by name to try the numerics");

        /**
         * @param cuda whether ND4J runs on a GPU
         * @param fast products of HALF matrices on the GPU; only called there
         */
        static Worth of(boolean cuda, Supplier<Optional<Products>> fast) {
            return !cuda ? NUMERICS_ONLY : fast.get().isPresent() ? FAST_PRODUCTS : CASTS_ONLY;
        }
    }

    static boolean onCuda() {
        return Nd4j.getExecutioner().getClass().getSimpleName().contains("Cuda");
    }
}
