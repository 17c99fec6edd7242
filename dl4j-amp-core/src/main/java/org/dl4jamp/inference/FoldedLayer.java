package org.dl4jamp.inference;

import java.util.ArrayList;
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
import org.dl4jamp.policy.InferencePlanner;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastMulOp;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * A product layer and the batch normalization behind it as one product layer. {@code gamma (W x + b - mean) /
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
        conf.setLayer(InferencePlanner.configuration(product.conf().getLayer(), normalization != null, function));
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
            INDArray factors = factors();
            Map<String, INDArray> own = product.paramTable();
            INDArray shift =
                    value(BatchNormalizationParamInitializer.GLOBAL_MEAN).neg();
            if (own.containsKey(BIAS)) {
                shift.addi(doubles(own.get(BIAS)));
            }
            own.forEach((name, array) -> folded.getParam(name).assign(array));
            INDArray target = folded.getParam(BIAS);
            INDArray bias = configuration().isLockGammaBeta()
                    ? factors.mul(shift).addi(configuration().getBeta())
                    : factors.mul(shift).addi(value(BatchNormalizationParamInitializer.BETA));
            target.assign(bias.castTo(DataType.FLOAT).reshape(target.shape()));
            scale(factors.castTo(DataType.FLOAT));
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

    private INDArray factors() {
        BatchNormalization conf = configuration();
        INDArray variances = conf.isUseLogStd()
                ? Transforms.exp(
                        value(BatchNormalizationParamInitializer.GLOBAL_LOG_STD).mul(2 * Math.log(10)))
                : value(BatchNormalizationParamInitializer.GLOBAL_VAR);
        INDArray deviations = Transforms.sqrt(variances.add(conf.getEps()));
        return conf.isLockGammaBeta()
                ? deviations.rdiv(conf.getGamma())
                : value(BatchNormalizationParamInitializer.GAMMA).div(deviations);
    }

    private BatchNormalization configuration() {
        return (BatchNormalization) normalization.conf().getLayer();
    }

    private INDArray value(String parameter) {
        return doubles(normalization.getParam(parameter));
    }

    /** Returns a copy in double precision, which has one axis. */
    private static INDArray doubles(INDArray array) {
        return array.castTo(DataType.DOUBLE).reshape(array.length());
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
