package org.dl4jamp.onednn.attention;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Recurrent attention: {@code o[t] = activation(x[t] W + b + attention(o[t-1]; x) R)}, the first step without
 * attention. Keys and values are projected once for all time steps, or are the input.
 */
final class RecurrentAttentionTwin extends SameDiffLayer implements Twin.OptionalInputGradient, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient RecurrentAttentionLayer ours;
    private final transient KernelCache<SequenceShape, RecurrentAttentionKernels> kernels =
            new KernelCache<>(KernelCache.SHAPES);
    private final transient WeightCopy weights;
    private transient RecurrentAttentionTrace kept;
    private transient boolean inputGradientUnwanted;
    private transient boolean hasBegun;

    RecurrentAttentionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.ours = (RecurrentAttentionLayer) conf.getLayer();
        this.weights = new WeightCopy(context.infers());
    }

    private void requireFit() {
        if (input.rank() != 3 || input.isEmpty() || input.size(1) != ours.getNIn()) {
            Rejection.of(conf, params, index, input);
        }
        if (!hasBegun) {
            ours.setTimeSteps((int) input.size(2));
            hasBegun = true;
        }
        ours.validateInput(input);
        AttentionMasks.requireFit(maskArray, input);
    }

    private RecurrentAttentionKernels kernels() {
        SequenceShape shape = new SequenceShape(input.size(0), input.size(2), input.size(1), ours.getNOut(), 1);
        return kernels.get(
                shape,
                () -> OneDnnContext.make(
                        layerId(),
                        Work.LARGE,
                        () -> new RecurrentAttentionKernels(
                                context, layerId(), ours, dataType, shape, params.length(), weights)));
    }

    private RecurrentAttentionPass pass() {
        return new RecurrentAttentionPass(
                context,
                kernels(),
                new RecurrentAttentionWeights(ours, dataType, weights, params, gradients),
                input,
                maskArray);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        requireFit();
        kept = null;
        boolean keeps = training && Workspaces.staysUntilBackward(workspaceMgr);
        AttentionMemory working = AttentionMemory.ofForward(workspaceMgr);
        RecurrentAttentionTrace trace = pass().forward(
                        training, working, keeps ? new AttentionMemory(workspaceMgr, ArrayType.ACTIVATIONS) : working);
        kept = keeps ? trace : null;
        INDArray output = Workspaces.dense(
                workspaceMgr, ArrayType.ACTIVATIONS, dataType, trace.outputs().shape());
        context.copies().copy(trace.outputs(), output);
        return Views.permuted(output, 1, 2, 0);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        requireFit();
        Rejection.ofEpsilon(layerId(), epsilon, input.size(0), ours.getNOut(), input.size(2));
        INDArray next = backward(epsilon, workspaceMgr);
        Gradient gradient = new DefaultGradient();
        gradTable.forEach(gradient::setGradientFor);
        return new Pair<>(gradient, next);
    }

    private INDArray backward(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        AttentionMemory memory = AttentionMemory.ofBackward(workspaceMgr);
        RecurrentAttentionPass pass = pass();
        RecurrentAttentionTrace trace = kept == null ? pass.forward(true, memory, memory) : kept;
        kept = null;
        return pass.backward(trace, epsilon, !inputGradientUnwanted, memory, workspaceMgr);
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    @Override
    public void clear() {
        super.clear();
        kept = null;
    }

    @Override
    public Twin.Weights keptWeights() {
        return weights;
    }

    @Override
    public void close() {
        kept = null;
        kernels.close();
        weights.close();
    }
}
