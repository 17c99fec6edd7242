package org.dl4jamp.onednn.attention;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.ScaledDotProduct;
import org.dl4jamp.onednn.twin.OneDnnCasting;
import org.dl4jamp.onednn.vertex.VertexTwin;
import org.dl4jamp.twin.Casting;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Attention of queries to keys and values, {@code [minibatch, size, time]} each, in a graph. */
final class AttentionVertexTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private static final int INPUTS = 3;

    private final transient AttentionPasses passes;
    private final transient AttentionVertex ours;
    private final transient SameDiffGraphVertex vertex;
    private final transient Casting casting;

    AttentionVertexTwin(VertexRequest request, OneDnnContext context) {
        super(request, context);
        ours = (AttentionVertex) request.configuration();
        vertex = (SameDiffGraphVertex) request.master();
        casting = new OneDnnCasting(context);
        AttentionForm form =
                AttentionForm.ofThree(ours.isProjectInput(), ours.getNHeads(), ours.getHeadSize(), ours.getNOut());
        passes = new AttentionPasses(
                context,
                () -> "vertex \"" + request.name() + "\"",
                form,
                request.type(),
                false,
                ScaledDotProduct.SCORES);
    }

    private AttentionMasks masks() {
        INDArray[] masks = HiddenFields.masks(vertex);
        return masks == null ? AttentionMasks.NONE : new AttentionMasks(masks[0], masks[1], masks[2]);
    }

    private INDArray parameters() {
        return ours.isProjectInput() ? vertex.params() : null;
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        if (inputs.length != INPUTS || !Arrays.stream(inputs).allMatch(input -> input.rank() == INPUTS)) {
            return false;
        }
        INDArray queries = inputs[AttentionForm.QUERIES];
        INDArray keys = inputs[AttentionForm.KEYS];
        INDArray values = inputs[AttentionForm.VALUES];
        boolean sizes = ours.isProjectInput()
                ? queries.size(1) == ours.getNInQueries()
                        && keys.size(1) == ours.getNInKeys()
                        && values.size(1) == ours.getNInValues()
                : queries.size(1) == keys.size(1) && keys.size(1) == values.size(1);
        AttentionMasks masks = masks();
        return sizes
                && queries.size(0) == keys.size(0)
                && keys.size(0) == values.size(0)
                && keys.size(2) == values.size(2)
                && AttentionMasks.fits(masks.queries(), queries)
                && AttentionMasks.fits(masks.keys(), keys)
                && AttentionMasks.fits(masks.values(), values);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        INDArray queries = inputs[AttentionForm.QUERIES];
        long size = ours.isProjectInput() ? ours.getNOut() : queries.size(1);
        return Optional.of(new long[] {queries.size(0), size, queries.size(2)});
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        return passes.forward(List.of(inputs), parameters(), masks(), training, workspaceMgr);
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        Place gradients = ours.isProjectInput() ? gradients() : null;
        return passes.backward(List.of(inputs), parameters(), masks(), epsilon, gradients, true, workspaceMgr)
                .toArray(INDArray[]::new);
    }

    /** Returns the place of the gradients of all parameters, whose views follow each other. */
    private Place gradients() {
        Collection<INDArray> views = HiddenFields.gradients(vertex).values();
        long first = views.stream().mapToLong(Workspaces::address).min().orElseThrow();
        long numbers = views.stream().mapToLong(INDArray::length).sum();
        return new Place(views, first, numbers * Float.BYTES);
    }

    @Override
    protected Gradient parameterGradients() {
        Gradient gradient = new DefaultGradient();
        Map<String, INDArray> views = HiddenFields.gradients(vertex);
        if (views != null) {
            views.forEach(gradient::setGradientFor);
        }
        return gradient;
    }

    @Override
    protected INDArray forwardByDl4j(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return inFloat(workspaceMgr, ArrayType.FF_WORKING_MEM, () -> {
            INDArray output = super.forwardByDl4j(training, workspaceMgr);
            return casting.cast(output, request().type(), workspaceMgr, ArrayType.ACTIVATIONS);
        });
    }

    @Override
    protected Pair<Gradient, INDArray[]> backwardByDl4j(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        return inFloat(workspaceMgr, ArrayType.BP_WORKING_MEM, () -> {
            vertex.setEpsilon(casting.cast(getEpsilon(), DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM));
            Pair<Gradient, INDArray[]> result = super.backwardByDl4j(tbptt, workspaceMgr);
            INDArray[] nexts = Arrays.stream(result.getSecond())
                    .map(next -> casting.cast(next, request().type(), workspaceMgr, ArrayType.ACTIVATION_GRAD))
                    .toArray(INDArray[]::new);
            return new Pair<>(result.getFirst(), nexts);
        });
    }

    /** Runs DL4J's vertex, whose operations and parameters are FP32. */
    private <T> T inFloat(LayerWorkspaceMgr workspaceMgr, ArrayType working, Supplier<T> pass) {
        if (request().type() == DataType.FLOAT) {
            return pass.get();
        }
        INDArray[] inputs = vertex.getInputs();
        INDArray[] wide = Arrays.stream(inputs)
                .map(input -> casting.cast(input, DataType.FLOAT, workspaceMgr, working))
                .toArray(INDArray[]::new);
        DataType planned = vertex.getDataType();
        vertex.setInputs(wide);
        vertex.setDataType(DataType.FLOAT);
        try {
            return pass.get();
        } finally {
            vertex.setInputs(inputs);
            vertex.setDataType(planned);
        }
    }

    @Override
    public void clear() {
        super.clear();
        passes.forget();
    }

    @Override
    public void close() {
        passes.close();
    }
}
