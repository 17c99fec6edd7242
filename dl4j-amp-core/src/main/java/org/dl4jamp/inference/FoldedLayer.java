package org.dl4jamp.inference;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.params.SeparableConvolutionParamInitializer;
import org.dl4jamp.policy.GroupConfiguration;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastMulOp;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A product layer and the batch normalization behind it as one product layer: {@code gamma (W x + b - mean) /
 * sqrt(variance + eps) + beta} is {@code (factor W) x + factor (b - mean) + beta} with {@code factor = gamma /
 * sqrt(variance + eps)} for each channel. In FP32, the factors in double precision.
 */
public final class FoldedLayer {
    private static final double LARGEST_HALF = 65504;

    private static final String BIAS = DefaultParamInitializer.BIAS_KEY;

    private final Layer product;
    private final Layer normalization;
    private final Layer folded;
    private final double largest;
    private boolean finite = true;

    /**
     * @param product the network's own product layer
     * @param normalization the network's own batch normalization; null if there is none
     * @param function applied to the result; null for nothing
     * @param precision that of the twin which takes the weights
     */
    public FoldedLayer(Layer product, Layer normalization, IActivation function, Precision precision) {
        this.largest = precision == Precision.HALF ? LARGEST_HALF : Float.MAX_VALUE;
        this.product = product;
        this.normalization = normalization;
        NeuralNetConfiguration conf = product.conf().clone();
        conf.setLayer(GroupConfiguration.of(product.conf().getLayer(), normalization != null, function));
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray parameters = normalization == null
                    ? product.params()
                    : Nd4j.create(
                            DataType.FLOAT, 1, conf.getLayer().initializer().numParams(conf));
            this.folded = conf.getLayer()
                    .instantiate(conf, new ArrayList<>(), product.getIndex(), parameters, false, DataType.FLOAT);
        }
        folded.setIterationCount(product.getIterationCount());
        folded.setEpochCount(product.getEpochCount());
    }

    /**
     * Returns the one layer. Its parameters are arbitrary until {@link #fold}, or the product layer's own if there is
     * no batch normalization.
     */
    public Layer layer() {
        return folded;
    }

    /** Makes its parameters of those of now. */
    public void fold() {
        if (normalization == null) {
            return;
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            double[] factor = factors();
            double[] bias = values(BatchNormalizationParamInitializer.GLOBAL_MEAN);
            double[] beta = betas();
            Map<String, INDArray> own = product.paramTable();
            double[] before = own.containsKey(BIAS) ? doubles(own.get(BIAS)) : new double[factor.length];
            for (int i = 0; i < bias.length; i++) {
                bias[i] = factor[i] * (before[i] - bias[i]) + beta[i];
            }
            own.forEach((name, array) -> folded.getParam(name).assign(array));
            INDArray target = folded.getParam(BIAS);
            target.assign(Nd4j.createFromArray(bias).castTo(DataType.FLOAT).reshape(target.shape()));
            scale(Nd4j.createFromArray(factor).castTo(DataType.FLOAT));
            // A comparison with NaN is false.
            finite = folded.params().amaxNumber().doubleValue() <= largest;
        }
    }

    /**
     * Returns whether all parameters are finite in the precision: those of a channel that is always zero may not be,
     * where {@code eps} is tiny.
     */
    public boolean isFinite() {
        return finite;
    }

    private double[] factors() {
        BatchNormalization conf = configuration();
        double[] factors = new double[(int) conf.getNOut()];
        Arrays.fill(factors, conf.getGamma());
        if (!conf.isLockGammaBeta()) {
            factors = values(BatchNormalizationParamInitializer.GAMMA);
        }
        double[] variances = conf.isUseLogStd()
                ? Arrays.stream(values(BatchNormalizationParamInitializer.GLOBAL_LOG_STD))
                        .map(logDeviation -> Math.pow(10, 2 * logDeviation))
                        .toArray()
                : values(BatchNormalizationParamInitializer.GLOBAL_VAR);
        for (int i = 0; i < factors.length; i++) {
            factors[i] /= Math.sqrt(variances[i] + conf.getEps());
        }
        return factors;
    }

    private double[] betas() {
        BatchNormalization conf = configuration();
        if (!conf.isLockGammaBeta()) {
            return values(BatchNormalizationParamInitializer.BETA);
        }
        double[] betas = new double[(int) conf.getNOut()];
        Arrays.fill(betas, conf.getBeta());
        return betas;
    }

    private BatchNormalization configuration() {
        return (BatchNormalization) normalization.conf().getLayer();
    }

    private double[] values(String parameter) {
        return doubles(normalization.getParam(parameter));
    }

    private static double[] doubles(INDArray array) {
        return array.castTo(DataType.DOUBLE).reshape(array.length()).toDoubleVector();
    }

    /** Multiplies the weights of each channel by its factor. */
    private void scale(INDArray factors) {
        Object conf = product.conf().getLayer();
        if (conf instanceof DepthwiseConvolution2D) {
            // [height, width, nIn, multiplier]: the channels are those of the last two axes.
            INDArray weights = folded.getParam(DefaultParamInitializer.WEIGHT_KEY);
            multiply(weights.reshape('c', weights.size(0), weights.size(1), factors.length()), factors, 2);
        } else if (folded.paramTable().containsKey(SeparableConvolutionParamInitializer.POINT_WISE_WEIGHT_KEY)) {
            multiply(folded.getParam(SeparableConvolutionParamInitializer.POINT_WISE_WEIGHT_KEY), factors, 0);
        } else {
            boolean inputsFirst = !(conf instanceof ConvolutionLayer) || conf instanceof Deconvolution2D;
            multiply(folded.getParam(DefaultParamInitializer.WEIGHT_KEY), factors, inputsFirst ? 1 : 0);
        }
    }

    private static void multiply(INDArray weights, INDArray factors, int axis) {
        Nd4j.getExecutioner().exec(new BroadcastMulOp(weights, factors, weights, axis));
    }
}
