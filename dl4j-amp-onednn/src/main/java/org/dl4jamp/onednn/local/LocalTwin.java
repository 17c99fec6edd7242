package org.dl4jamp.onednn.local;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * A locally connected layer of sequences {@code [minibatch, nIn, time]} or images. It computes in FP32, over the master
 * weights: each weight is used once for each example, so copies of another type would take as long as the products.
 * Gradients have the factor of DL4J's SameDiff layers.
 */
final class LocalTwin extends SameDiffLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private static final String WEIGHTS = ConvolutionParamInitializer.WEIGHT_KEY;
    private static final String BIAS = ConvolutionParamInitializer.BIAS_KEY;

    private final transient OneDnnContext context;
    private final transient LocalForm form;
    private final transient ActivationFunction function;
    private final transient KernelCache<Layout, LocalKernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    LocalTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.form = LocalForm.of(conf.getLayer());
        this.function = new ActivationFunction(context, form.activation().getActivationFunction());
    }

    private INDArray given() {
        return form.channels().toSecond(input);
    }

    private LocalKernels kernels() {
        INDArray given = given();
        return kernels.get(Layout.dense(DataType.FLOAT, given.shape()), () -> {
            if (!form.fits(given)) {
                Rejection.of(conf, params, index, input);
            }
            return LocalKernels.make(context, layerId(), form, form.padded(given.shape()));
        });
    }

    private static INDArray floats(LayerWorkspaceMgr workspaceMgr, ArrayType working, long... shape) {
        return Workspaces.dense(workspaceMgr, working, DataType.FLOAT, shape);
    }

    /** Returns the part of an array with padding that is no padding. */
    private INDArray inner(INDArray padded) {
        INDArrayIndex[] part = new INDArrayIndex[padded.rank()];
        part[0] = NDArrayIndex.all();
        part[1] = NDArrayIndex.all();
        for (int number = 0; number < form.axes().size(); number++) {
            LocalForm.Axis axis = form.axes().get(number);
            part[number + 2] = NDArrayIndex.interval(axis.before(), padded.size(number + 2) - axis.after());
        }
        return padded.get(part);
    }

    private INDArray windows(LocalKernels ours, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        INDArray given = given();
        INDArray padded = floats(workspaceMgr, working, form.padded(given.shape()));
        if (form.pads()) {
            Workspaces.clear(padded);
            context.copies().copyOrAssign(given, inner(padded));
        } else {
            context.copies().copyOrAssign(given, padded);
        }
        INDArray windows = floats(workspaceMgr, working, form.windows(), given.size(0), form.covered());
        ours.take(padded, windows);
        return windows;
    }

    /** Returns {@code [windows, minibatch, nOut]} as {@code [minibatch, nOut, ...]}. */
    private INDArray asOutput(INDArray sums) {
        long minibatch = sums.size(1);
        if (form.axes().size() == 1) {
            return sums.permute(1, 2, 0);
        }
        return sums.reshape(
                        'c', form.axes().get(0).windows(), form.axes().get(1).windows(), minibatch, form.nOut())
                .permute(2, 3, 0, 1);
    }

    /** Returns the FP32 sums, {@code [minibatch, nOut, ...]} with the channels last in memory. */
    private INDArray sums(LocalKernels ours, INDArray windows, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        INDArray sums = floats(workspaceMgr, working, form.windows(), windows.size(1), form.nOut());
        ours.forward(windows, getParam(WEIGHTS), form.hasBias() ? getParam(BIAS) : null, sums);
        INDArray turned = asOutput(sums);
        INDArray ordered = Workspaces.channelsLast(workspaceMgr, working, DataType.FLOAT, turned.shape());
        context.copies().copyOrAssign(turned, ordered);
        return ordered;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        LocalKernels ours = kernels();
        INDArray windows = windows(ours, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray sums = sums(ours, windows, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, dataType, sums.shape());
        function.forward(layerId(), sums, training, output);
        return form.channels().fromSecond(output);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        LocalKernels ours = kernels();
        INDArray windows = windows(ours, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray sums = sums(ours, windows, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray above = form.channels().toSecond(epsilon);
        Rejection.ofEpsilon(layerId(), above, sums.shape());
        INDArray slopes = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, sums.shape());
        function.backward(layerId(), sums, above, slopes, workspaceMgr);
        INDArray delta = floats(workspaceMgr, ArrayType.BP_WORKING_MEM, form.windows(), windows.size(1), form.nOut());
        context.copies().copyOrAssign(slopes, asOutput(delta));
        delta.muli(ExternalErrors.factor());
        Gradient gradient = new DefaultGradient();
        if (form.hasBias()) {
            INDArray view = gradTable.get(BIAS);
            view.assign(delta.reshape('c', delta.size(0) * delta.size(1), form.nOut())
                    .sum(0));
            gradient.setGradientFor(BIAS, view);
        }
        ours.backwardWeights(windows, delta, gradTable.get(WEIGHTS));
        gradient.setGradientFor(WEIGHTS, gradTable.get(WEIGHTS));
        return new Pair<>(gradient, form.channels().fromSecond(inputGradient(ours, windows, delta, workspaceMgr)));
    }

    /** @param windows lost */
    private INDArray inputGradient(
            LocalKernels ours, INDArray windows, INDArray delta, LayerWorkspaceMgr workspaceMgr) {
        long[] shape = given().shape();
        ours.backwardWindows(delta, getParam(WEIGHTS), windows);
        INDArray padded = floats(workspaceMgr, ArrayType.BP_WORKING_MEM, form.padded(shape));
        Workspaces.clear(padded);
        ours.add(windows, padded);
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, shape);
        context.copies().copyOrAssign(form.pads() ? inner(padded) : padded, next);
        return next;
    }

    @Override
    public void close() {
        function.close();
        kernels.close();
    }
}
