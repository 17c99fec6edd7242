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
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.shape.Shape;
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
        Channels channels = Channels.of(x, channelAxis);
        INDArray result = workspaceMgr.createUninitialized(ArrayType.ACTIVATIONS, x.dataType(), x.shape(), 'c');
        INDArray rows = channels.matrix(result);
        INDArray given = channels.matrix(contiguous(x, ArrayType.FF_WORKING_MEM, workspaceMgr));
        ofMinibatch = training == TrainingMode.TRAIN;
        if (ofMinibatch) {
            centre(channels, given, rows);
            measureSpread(channels, rows);
        } else {
            channels.subtract(given, runningMean(), rows);
        }
        INDArray spread =
                ofMinibatch ? deviation : runningDeviation().reshape(layerConf().getNOut());
        channels.multiply(rows, scale(spread));
        if (layerConf().isLockGammaBeta()) {
            return result.addi(layerConf().getBeta());
        }
        channels.add(rows, getParam(BatchNormalizationParamInitializer.BETA));
        return result;
    }

    /** Subtracts the mean of the minibatch, which it remembers. */
    private void centre(Channels channels, INDArray given, INDArray result) {
        if (mean == null) {
            mean = Nd4jSession.uninitialized(DataType.FLOAT, layerConf().getNOut());
            variance = Nd4jSession.uninitialized(DataType.FLOAT, layerConf().getNOut());
            deviation = Nd4jSession.uninitialized(DataType.FLOAT, layerConf().getNOut());
        }
        mean.assign(channels.sum(given)).divi(channels.count());
        channels.subtract(given, mean, result);
    }

    /** Remembers variance and standard deviation of numbers whose mean was subtracted. */
    private void measureSpread(Channels channels, INDArray centred) {
        variance.assign(channels.squares(centred)).divi(channels.count());
        deviation.assign(variance).addi(layerConf().getEps());
        Transforms.sqrt(deviation, false);
    }

    /** Returns gamma / deviation, a new array {@code [channels]}. */
    private INDArray scale(INDArray spread) {
        return layerConf().isLockGammaBeta()
                ? spread.rdiv(layerConf().getGamma())
                : gamma().reshape(spread.shape()).div(spread);
    }

    /** Returns the array itself if it has no gaps, else a copy. */
    private static INDArray contiguous(INDArray array, ArrayType place, LayerWorkspaceMgr workspaceMgr) {
        return Shape.hasDefaultStridesForShape(array)
                ? array
                : workspaceMgr
                        .createUninitialized(place, array.dataType(), array.shape(), 'c')
                        .assign(array);
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
        Channels channels = Channels.of(epsilon, channelAxis(epsilon));
        INDArray errors = channels.matrix(contiguous(epsilon, ArrayType.BP_WORKING_MEM, workspaceMgr));
        INDArray given = channels.matrix(contiguous(input, ArrayType.BP_WORKING_MEM, workspaceMgr));
        INDArray next = workspaceMgr.createUninitialized(ArrayType.ACTIVATION_GRAD, dataType, epsilon.shape(), 'c');
        INDArray rows = channels.matrix(next);
        if (!ofMinibatch) {
            // The running statistics move towards those of the minibatch all the same.
            centre(channels, given, rows);
            measureSpread(channels, rows);
        }
        INDArray centre = ofMinibatch ? mean : runningMean().reshape(mean.shape());
        INDArray spread = ofMinibatch ? deviation : runningDeviation().reshape(mean.shape());
        channels.subtract(given, centre, rows);
        INDArray product = workspaceMgr.createUninitialized(ArrayType.BP_WORKING_MEM, dataType, errors.shape(), 'c');
        errors.muli(rows, product);
        INDArray gammaGradient = channels.sum(product).divi(spread);
        INDArray betaGradient = channels.sum(errors);

        Gradient gradient = new DefaultGradient();
        if (!layerConf().isLockGammaBeta()) {
            put(gradient, BatchNormalizationParamInitializer.GAMMA, gammaGradient);
            put(gradient, BatchNormalizationParamInitializer.BETA, betaGradient);
        }
        // dL/dx = gamma / deviation * (epsilon - mean(epsilon) - xHat * mean(epsilon * xHat))
        gammaGradient.divi(-channels.count());
        betaGradient.divi(channels.count());
        if (!ofMinibatch) {
            // DL4J derives the running statistics as if they were the minibatch's; but the numbers' deviations from
            // the running mean don't add up to zero.
            betaGradient.addi(mean.sub(centre).divi(spread).muli(gammaGradient));
        }
        channels.multiply(rows, gammaGradient.divi(spread));
        rows.addi(errors);
        channels.subtract(rows, betaGradient, rows);
        channels.multiply(rows, scale(spread));
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
}
