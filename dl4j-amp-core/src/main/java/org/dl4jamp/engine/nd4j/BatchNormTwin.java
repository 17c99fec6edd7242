package org.dl4jamp.engine.nd4j;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastAddOp;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastDivOp;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastMulOp;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastSubOp;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Batch normalization that needs nothing but its input to run backward. It keeps mean and standard deviation per
 * channel, where DL4J's layer keeps two FP32 copies of all activations outside workspaces. Statistics, parameters and
 * arithmetic are FP32; input is {@code [minibatch, features]}, {@code [minibatch, channels, height, width]} or
 * {@code [minibatch, height, width, channels]}.
 *
 * <p>The formulas are those of Ioffe and Szegedy 2015; running statistics are updated as DL4J does, through gradients
 * that are updates.
 */
final class BatchNormTwin extends BatchNormalization {
    private static final long serialVersionUID = 1L;

    private transient INDArray mean;
    private transient INDArray variance;
    private transient INDArray deviation;
    private transient boolean ofMinibatch;

    BatchNormTwin(NeuralNetConfiguration conf) {
        super(conf, DataType.FLOAT);
    }

    @Override
    public INDArray preOutput(INDArray x, TrainingMode training, LayerWorkspaceMgr workspaceMgr) {
        if (x.rank() != 2 && x.rank() != 4) {
            return super.preOutput(x, training, workspaceMgr);
        }
        int channelAxis = channelAxis(x);
        if (x.size(channelAxis) != layerConf().getNOut()) {
            throw new IllegalArgumentException(
                    "input.size(" + channelAxis + ") is " + x.size(channelAxis) + " but batch normalization "
                            + layerId() + " was made for " + layerConf().getNOut());
        }
        INDArray normalized = workspaceMgr.createUninitialized(ArrayType.ACTIVATIONS, x.dataType(), x.shape(), 'c');
        ofMinibatch = training == TrainingMode.TRAIN;
        if (ofMinibatch) {
            measure(x, channelAxis);
            normalize(x, mean, deviation, channelAxis, normalized);
        } else {
            normalize(x, runningMean(), runningDeviation(), channelAxis, normalized);
        }
        if (layerConf().isLockGammaBeta()) {
            return normalized.muli(layerConf().getGamma()).addi(layerConf().getBeta());
        }
        Nd4j.getExecutioner().exec(new BroadcastMulOp(normalized, gamma(), normalized, channelAxis));
        Nd4j.getExecutioner()
                .exec(new BroadcastAddOp(
                        normalized, getParam(BatchNormalizationParamInitializer.BETA), normalized, channelAxis));
        return normalized;
    }

    private void measure(INDArray x, int channelAxis) {
        if (mean == null) {
            long channels = x.size(channelAxis);
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                mean = Nd4j.createUninitialized(DataType.FLOAT, channels);
                variance = Nd4j.createUninitialized(DataType.FLOAT, channels);
                deviation = Nd4j.createUninitialized(DataType.FLOAT, channels);
            }
        }
        int[] others = otherAxes(x.rank(), channelAxis);
        mean.assign(x.mean(others));
        variance.assign(x.var(false, others));
        deviation.assign(variance).addi(layerConf().getEps());
        Transforms.sqrt(deviation, false);
    }

    private static void normalize(INDArray x, INDArray mean, INDArray deviation, int channelAxis, INDArray result) {
        Nd4j.getExecutioner().exec(new BroadcastSubOp(x, mean, result, channelAxis));
        Nd4j.getExecutioner().exec(new BroadcastDivOp(result, deviation, result, channelAxis));
    }

    private INDArray gamma() {
        return getParam(BatchNormalizationParamInitializer.GAMMA);
    }

    private INDArray runningMean() {
        return getParam(BatchNormalizationParamInitializer.GLOBAL_MEAN);
    }

    /** Returns a new array. */
    private INDArray runningDeviation() {
        return Transforms.sqrt(runningVariance().addi(layerConf().getEps()), false);
    }

    /** Returns a new array. */
    private INDArray runningVariance() {
        if (!layerConf().isUseLogStd()) {
            return getParam(BatchNormalizationParamInitializer.GLOBAL_VAR).dup();
        }
        INDArray log10Deviation = getParam(BatchNormalizationParamInitializer.GLOBAL_LOG_STD);
        INDArray running = Transforms.pow(Nd4j.valueArrayOf(log10Deviation.shape(), 10.0, dataType), log10Deviation);
        return running.muli(running);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        if (epsilon.rank() != 2 && epsilon.rank() != 4) {
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        int channelAxis = channelAxis(epsilon);
        int[] others = otherAxes(epsilon.rank(), channelAxis);
        double count = (double) epsilon.length() / epsilon.size(channelAxis);

        if (!ofMinibatch) {
            // The running statistics move towards those of the minibatch all the same.
            measure(input, channelAxis);
        }
        INDArray centre = ofMinibatch ? mean : runningMean().reshape(mean.shape());
        INDArray spread = ofMinibatch ? deviation : runningDeviation().reshape(mean.shape());
        INDArray next = workspaceMgr.createUninitialized(ArrayType.ACTIVATION_GRAD, dataType, epsilon.shape(), 'c');
        normalize(input, centre, spread, channelAxis, next);
        INDArray product = workspaceMgr.createUninitialized(ArrayType.BP_WORKING_MEM, dataType, epsilon.shape(), 'c');
        epsilon.muli(next, product);
        INDArray gammaGradient = product.sum(others);
        INDArray betaGradient = epsilon.sum(others);

        Gradient gradient = new DefaultGradient();
        INDArray scale;
        if (layerConf().isLockGammaBeta()) {
            scale = spread.rdiv(layerConf().getGamma());
        } else {
            put(gradient, BatchNormalizationParamInitializer.GAMMA, gammaGradient);
            put(gradient, BatchNormalizationParamInitializer.BETA, betaGradient);
            scale = gamma().reshape(spread.shape()).div(spread);
        }
        // dL/dx = gamma / deviation * (epsilon - mean(epsilon) - xHat * mean(epsilon * xHat))
        Nd4j.getExecutioner().exec(new BroadcastMulOp(next, gammaGradient.divi(-count), next, channelAxis));
        next.addi(epsilon);
        betaGradient.divi(count);
        if (!ofMinibatch) {
            // DL4J derives the running statistics as if they were the minibatch's; but the numbers' deviations from
            // the running mean don't add up to zero.
            betaGradient.addi(mean.sub(centre).divi(spread).muli(gammaGradient));
        }
        Nd4j.getExecutioner().exec(new BroadcastSubOp(next, betaGradient, next, channelAxis));
        Nd4j.getExecutioner().exec(new BroadcastMulOp(next, scale, next, channelAxis));
        updateRunningStatistics(gradient);
        return new Pair<>(gradient, next);
    }

    private void put(Gradient gradient, String name, INDArray value) {
        INDArray view = gradientViews.get(name);
        view.assign(value.reshape(view.shape()));
        gradient.setGradientFor(name, view);
    }

    private void updateRunningStatistics(Gradient gradient) {
        double decay = layerConf().getDecay();
        INDArray runningMean = runningMean();
        put(
                gradient,
                BatchNormalizationParamInitializer.GLOBAL_MEAN,
                runningMean.sub(mean.reshape(runningMean.shape())).muli(1 - decay));
        INDArray running = runningVariance();
        INDArray measured = variance.reshape(running.shape());
        if (layerConf().isUseLogStd()) {
            // log10(deviation[t]) - log10(deviation[t+1]) with variance[t+1] = decay * variance[t] + (1 - decay) *
            // measured
            INDArray next = running.mul(decay).addi(measured.mul(1 - decay));
            INDArray update = Transforms.log(running.divi(next), false).muli(1 / (2 * Math.log(10)));
            put(gradient, BatchNormalizationParamInitializer.GLOBAL_LOG_STD, update);
        } else {
            put(
                    gradient,
                    BatchNormalizationParamInitializer.GLOBAL_VAR,
                    running.subi(measured).muli(1 - decay));
        }
    }

    private int channelAxis(INDArray array) {
        return array.rank() == 4 && layerConf().getCnn2DFormat() == CNN2DFormat.NHWC ? 3 : 1;
    }

    private static int[] otherAxes(int rank, int channelAxis) {
        return rank == 2 ? new int[] {0} : channelAxis == 1 ? new int[] {0, 2, 3} : new int[] {0, 1, 2};
    }
}
