package org.dl4jamp.onednn.vertex;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.RepetitionKernels;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Vectors {@code [minibatch, size]} in each time step of sequences that are as long as one of the network's inputs.
 * Gradients of time steps are added up in FP32.
 */
final class DuplicationTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private final transient NetworkInput asLong;
    private final transient KernelCache<Layout, RepetitionKernels> sums = new KernelCache<>(KernelCache.SHAPES);
    /** The length in the last forward pass. */
    private transient long steps;

    /** @param input the name of the network's input with the length */
    DuplicationTwin(VertexRequest request, String input, OneDnnContext context) {
        super(request, context);
        this.asLong = NetworkInput.of(request, input);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        INDArray sequences = asLong.array();
        return inputs.length == 1 && inputs[0].rank() == 2 && sequences != null && sequences.rank() == 3;
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        return Optional.of(new long[] {inputs[0].size(0), inputs[0].size(1), steps});
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        steps = asLong.array().size(2);
        INDArray vectors = rows(inputs[0], workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = TimeSteps.create(
                workspaceMgr, ArrayType.ACTIVATIONS, request().type(), vectors.size(0), vectors.size(1), steps);
        TimeSteps from = new TimeSteps(vectors);
        TimeSteps to = new TimeSteps(output);
        for (long step = 0; step < steps; step++) {
            from.copy(0, to, step);
        }
        return output;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = channelsLast(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        long minibatch = above.size(0);
        long size = above.size(1);
        Layout fine = layout(minibatch, size, steps);
        RepetitionKernels kernels = sums.get(
                fine, () -> RepetitionKernels.make(context(), request().name(), layout(minibatch, size, 1), fine));
        INDArray gradient = create(workspaceMgr, ArrayType.ACTIVATION_GRAD, minibatch, size);
        kernels.sum(above, Views.reshaped(gradient, minibatch, size, 1));
        return new INDArray[] {gradient};
    }

    @Override
    public void close() {
        sums.close();
    }
}
