package org.dl4jamp.onednn.normalization;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.FusedRelu;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Batch normalization of {@code [minibatch, features]}, {@code [minibatch, channels, height, width]} or
 * {@code [minibatch, height, width, channels]}. Statistics, parameters and arithmetic are FP32 whatever the type of the
 * activations. Of the forward pass it keeps mean and variance per channel, and where a ReLU that it applied let pass,
 * one bit for each number.
 */
public final class BatchNormTwin extends BatchNormalization implements FusedRelu.Partner, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ChannelAxis axis;
    private final transient KernelCache<Variant, BatchNormKernels> kernels = new KernelCache<>(KernelCache.SHAPES);
    private final transient INDArray mean;
    private final transient INDArray variance;
    private final transient INDArray runningVariance;
    private final transient INDArray fixedGamma;
    private final transient INDArray fixedBeta;
    private final transient BatchNormKernels.ParameterGradients unwantedGradients;

    private transient FusedRelu relu;
    private transient INDArray mask;
    private transient boolean ofMinibatch;

    private record Variant(Layout layout, boolean relu) {}

    public BatchNormTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.axis = ChannelAxis.of(layerConf().getCnn2DFormat());
        long channels = layerConf().getNOut();
        this.mean = filled(channels, 0);
        this.variance = filled(channels, 0);
        this.runningVariance = filled(channels, 0);
        this.fixedGamma = filled(channels, layerConf().getGamma());
        this.fixedBeta = filled(channels, layerConf().getBeta());
        this.unwantedGradients = new BatchNormKernels.ParameterGradients(filled(channels, 0), filled(channels, 0));
    }

    @Override
    public void fuse(FusedRelu with) {
        relu = with;
    }

    private static INDArray filled(long length, double value) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return Nd4j.valueArrayOf(new long[] {length}, value, DataType.FLOAT);
        }
    }

    /** The kernels read a matrix as images of one pixel. */
    private BatchNormKernels kernels(INDArray x, boolean withRelu) {
        long[] shape = x.rank() == 4 ? x.shape() : new long[] {x.size(0), x.size(1), 1, 1};
        Layout layout = Layout.channelsLast(x.dataType(), shape);
        return kernels.get(
                new Variant(layout, withRelu),
                () -> BatchNormKernels.make(
                        context, layerId(), layout, layerConf().getEps(), withRelu));
    }

    private boolean accepts(INDArray x) {
        return (x.rank() == 2 || x.rank() == 4) && x.size(1) == layerConf().getNOut();
    }

    @Override
    public INDArray preOutput(INDArray images, TrainingMode training, LayerWorkspaceMgr workspaceMgr) {
        INDArray given = axis.toSecond(images);
        if (!accepts(given)) {
            // DL4J's layer throws for a wrong shape.
            return super.preOutput(images, training, workspaceMgr);
        }
        INDArray x = context.copies().channelsLast(given, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, dataType, x.shape());
        INDArray handedOn = axis.fromSecond(output);
        mask = null;
        ofMinibatch = training == TrainingMode.TRAIN;
        if (ofMinibatch) {
            boolean withRelu = relu != null && Workspaces.staysUntilBackward(workspaceMgr);
            BatchNormKernels ours = kernels(x, withRelu);
            if (withRelu) {
                mask = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, DataType.UINT8, ours.maskBytes());
                relu.made(handedOn, true);
            }
            ours.train(x, channels(mean, variance), output, mask);
        } else {
            kernels(x, relu != null).infer(x, running(), output);
        }
        return handedOn;
    }

    private BatchNormKernels.Channels running() {
        return channels(getParam(BatchNormalizationParamInitializer.GLOBAL_MEAN), runningVariance());
    }

    private BatchNormKernels.Channels channels(INDArray itsMean, INDArray itsVariance) {
        boolean fixed = layerConf().isLockGammaBeta();
        return new BatchNormKernels.Channels(
                fixed ? fixedGamma : getParam(BatchNormalizationParamInitializer.GAMMA),
                fixed ? fixedBeta : getParam(BatchNormalizationParamInitializer.BETA),
                itsMean,
                itsVariance);
    }

    private INDArray runningVariance() {
        if (!layerConf().isUseLogStd()) {
            return getParam(BatchNormalizationParamInitializer.GLOBAL_VAR);
        }
        INDArray logDeviation = getParam(BatchNormalizationParamInitializer.GLOBAL_LOG_STD);
        RunningStatistics.write(RunningStatistics.variances(logDeviation), runningVariance);
        return runningVariance;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        INDArray given = axis.toSecond(input);
        if (!accepts(given)) {
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        Rejection.ofEpsilon(layerId(), epsilon, input.shape());
        Gradient gradient = new DefaultGradient();
        INDArray above = axis.toSecond(epsilon);
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, given.shape());
        if (ofMinibatch) {
            INDArray x = context.copies().channelsLast(given, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
            kernels(x, mask != null)
                    .backward(
                            x,
                            context.copies().channelsLast(above, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM),
                            channels(mean, variance),
                            mask,
                            gradients(gradient),
                            next);
        } else {
            backwardOfRunning(given, above, gradients(gradient), next, workspaceMgr);
        }
        context.lentGradients().giveBack(epsilon);
        updateRunningStatistics(gradient);
        return new Pair<>(gradient, axis.fromSecond(next));
    }

    private BatchNormKernels.ParameterGradients gradients(Gradient gradient) {
        return layerConf().isLockGammaBeta()
                ? unwantedGradients
                : new BatchNormKernels.ParameterGradients(
                        view(gradient, BatchNormalizationParamInitializer.GAMMA),
                        view(gradient, BatchNormalizationParamInitializer.BETA));
    }

    /**
     * Runs the backward pass after a forward pass in inference mode, in FP32 and rounded once. DL4J derives the running
     * statistics as if they were the minibatch's, though the numbers' deviations from the running mean don't add up to
     * zero. They move towards the minibatch's all the same.
     */
    private void backwardOfRunning(
            INDArray given,
            INDArray epsilon,
            BatchNormKernels.ParameterGradients gradients,
            INDArray next,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray x = context.copies().channelsLast(given, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray above = context.copies().channelsLast(epsilon, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray sums = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, given.shape());
        BatchNormKernels ours = kernels(x, false);
        ours.train(x, channels(mean, variance), sums, null);
        BatchNormKernels.Channels running = running();
        ours.backward(x, above, running, null, gradients, sums);
        int channels = (int) layerConf().getNOut();
        float[] shift = RunningStatistics.shiftOfGradients(
                RunningStatistics.read(mean),
                running,
                gradients.gamma(),
                layerConf().getEps(),
                given.length() / channels);
        Workspaces.contiguous(sums).reshape(-1, channels).addiRowVector(Nd4j.createFromArray(shift));
        context.copies().copy(sums, next);
    }

    private INDArray view(Gradient gradient, String parameter) {
        INDArray view = gradientViews.get(parameter);
        gradient.setGradientFor(parameter, view);
        return view;
    }

    private void updateRunningStatistics(Gradient gradient) {
        double decay = layerConf().getDecay();
        String meanKey = BatchNormalizationParamInitializer.GLOBAL_MEAN;
        RunningStatistics.update(getParam(meanKey), RunningStatistics.read(mean), decay, view(gradient, meanKey));
        if (layerConf().isUseLogStd()) {
            String key = BatchNormalizationParamInitializer.GLOBAL_LOG_STD;
            RunningStatistics.updateOfLogarithm(
                    getParam(key), RunningStatistics.read(variance), decay, view(gradient, key));
        } else {
            String key = BatchNormalizationParamInitializer.GLOBAL_VAR;
            RunningStatistics.update(getParam(key), RunningStatistics.read(variance), decay, view(gradient, key));
        }
    }

    @Override
    public void clear() {
        super.clear();
        mask = null;
    }

    @Override
    public void close() {
        kernels.close();
    }
}
