package org.dl4jamp.onednn.vertex;

import java.util.Arrays;
import java.util.Optional;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.GradientSum;
import org.dl4jamp.twin.DelegatingVertex;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.RefusedShape;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** A vertex that computes in place of DL4J's, and delegates rare and wrong calls to it. */
public abstract class VertexTwin extends DelegatingVertex implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient VertexRequest request;
    private final transient OneDnnContext context;
    private transient boolean ranOwn;
    private transient boolean leftToMaster;

    protected VertexTwin(VertexRequest request, OneDnnContext context) {
        super(request.master());
        this.request = request;
        this.context = context;
        request.gate().takePart(request.context().turn(), false);
    }

    protected final OneDnnContext context() {
        return context;
    }

    protected final VertexRequest request() {
        return request;
    }

    /** Returns whether it computes inputs of these shapes. If not, DL4J's vertex computes or throws. */
    protected abstract boolean covers(INDArray[] inputs);

    /**
     * Returns the activations, in {@link ArrayType#ACTIVATIONS}.
     *
     * @throws RefusedShape if DL4J's vertex is to compute inputs of these shapes
     */
    protected abstract INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr);

    /** Returns one gradient per input, each with memory of its own in {@link ArrayType#ACTIVATION_GRAD}. */
    protected abstract INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr);

    /**
     * Returns the shape of the activations of inputs that are covered; empty if DL4J's vertex checks the gradient's.
     */
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        return Optional.of(inputs[0].shape());
    }

    /** Returns the gradients of parameters that {@link #backward} has computed; null for a vertex without. */
    protected Gradient parameterGradients() {
        return null;
    }

    /** Runs DL4J's vertex forward, in a pass of this engine. */
    protected INDArray forwardByDl4j(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return master().doForward(training, workspaceMgr);
    }

    /** Runs DL4J's vertex backward, in a pass of this engine. */
    protected Pair<Gradient, INDArray[]> backwardByDl4j(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        return master().doBackward(tbptt, workspaceMgr);
    }

    /** Returns the activations, if the layer that makes one of the inputs has computed them along with it. */
    Optional<INDArray> madeAlready(INDArray[] inputs) {
        return Optional.empty();
    }

    /** Applies to the output of DL4J's vertex what this one computes along with its own. */
    INDArray afterDl4j(INDArray output) {
        return output;
    }

    private boolean isCovered(INDArray[] inputs) {
        boolean readable =
                Arrays.stream(inputs).allMatch(input -> input.dataType() == request.type() && Layout.isReadable(input));
        return readable && covers(inputs);
    }

    @Override
    public final INDArray doForward(boolean training, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = request.gate().forward(request.context().turn(), false)) {
            ranOwn = inside.isOwn();
            return ranOwn ? forwardOfMaster(training, workspaceMgr) : forwardInside(training, workspaceMgr);
        }
    }

    /** Computes in a pass of the network's own layers, which are FP32. */
    private INDArray forwardOfMaster(boolean training, LayerWorkspaceMgr workspaceMgr) {
        if (request.type() == DataType.FLOAT) {
            return master().doForward(training, workspaceMgr);
        }
        BaseGraphVertex master = (BaseGraphVertex) master();
        DataType planned = master.getDataType();
        master.setDataType(DataType.FLOAT);
        try {
            return master.doForward(training, workspaceMgr);
        } finally {
            master.setDataType(planned);
        }
    }

    private INDArray forwardInside(boolean training, LayerWorkspaceMgr workspaceMgr) {
        GraphVertex master = master();
        LayerContext.PassCheck check = request.context().check();
        leftToMaster = check.leavesToDl4j(training, master.getInputs())
                || check.refused().contain(master.getInputs());
        if (leftToMaster) {
            return afterDl4j(forwardByDl4j(training, workspaceMgr));
        }
        Optional<INDArray> ready = master.canDoForward() ? madeAlready(master.getInputs()) : Optional.empty();
        if (ready.isPresent()) {
            return inOrder(context.passThrough(ready.get(), workspaceMgr), workspaceMgr);
        }
        if (!master.canDoForward() || !isCovered(master.getInputs())) {
            return afterDl4j(forwardByDl4j(training, workspaceMgr));
        }
        try {
            return inOrder(forward(master.getInputs(), training, workspaceMgr), workspaceMgr);
        } catch (RefusedShape e) {
            leave(e);
            return afterDl4j(forwardByDl4j(training, workspaceMgr));
        }
    }

    private void leave(RefusedShape refusal) {
        leftToMaster = true;
        request.context().check().refused().add("Vertex \"" + request.name() + "\"", refusal, master().getInputs());
    }

    private INDArray inOrder(INDArray output, LayerWorkspaceMgr workspaceMgr) {
        return request.context().readInUsualOrder()
                ? context.copies().dense(output, workspaceMgr, ArrayType.ACTIVATIONS)
                : output;
    }

    @Override
    public final Pair<Gradient, INDArray[]> doBackward(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        if (ranOwn) {
            return master().doBackward(tbptt, workspaceMgr);
        }
        try (Gate.Inside inside = request.gate().enter()) {
            return backwardInside(tbptt, workspaceMgr);
        }
    }

    private Pair<Gradient, INDArray[]> backwardInside(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        GraphVertex master = master();
        if (leftToMaster || !master.canDoBackward() || !isCovered(master.getInputs())) {
            return backwardByDl4j(tbptt, workspaceMgr);
        }
        Optional<long[]> outputShape = outputShape(master.getInputs());
        INDArray epsilon = epsilon(master, outputShape);
        outputShape.ifPresent(shape -> Rejection.ofEpsilon("of vertex \"" + request.name() + "\"", epsilon, shape));
        INDArray[] gradients;
        try {
            gradients = backward(master.getInputs(), epsilon, workspaceMgr);
        } catch (RefusedShape e) {
            leave(e);
            // Some of DL4J's vertices note the number and shapes of their inputs in the forward pass.
            forwardByDl4j(true, LayerWorkspaceMgr.noWorkspaces());
            return backwardByDl4j(tbptt, workspaceMgr);
        }
        for (int i = 0; i < gradients.length; i++) {
            if (request.context().foreignProducer()) {
                gradients[i] = context.copies().dense(gradients[i], workspaceMgr, ArrayType.ACTIVATION_GRAD);
            }
            if (request.context().inputShared()) {
                gradients[i] = GradientSum.of(gradients[i], context());
            }
        }
        return new Pair<>(parameterGradients(), gradients);
    }

    /**
     * DL4J takes pooled sequences for sequences, and puts a preprocessor after the vertex that hands the gradient back
     * with a time step.
     */
    private static INDArray epsilon(GraphVertex master, Optional<long[]> outputShape) {
        INDArray epsilon = master.getEpsilon();
        boolean isOfVectors = outputShape.map(shape -> shape.length).orElseGet(() -> master.getInputs()[0].rank()) == 2;
        boolean hasTimeStep = isOfVectors && epsilon.rank() == 3 && epsilon.size(2) == 1;
        return hasTimeStep ? epsilon.get(NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.point(0)) : epsilon;
    }

    /** Returns an array in channels-last order, copied to working memory if it isn't. */
    final INDArray channelsLast(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(array, request.type(), workspaceMgr, working);
    }

    /** Returns an array whose features are contiguous in memory, copied to working memory if they aren't. */
    final INDArray rows(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return array.dataType() == request.type() && TimeSteps.hasRows(array)
                ? array
                : channelsLast(array, workspaceMgr, working);
    }

    /** Returns new sequences of the shape of others, time step by time step in memory if these are. */
    final INDArray sequences(INDArray model, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        return createLike(model, workspaceMgr, place, model.shape());
    }

    /** Returns a new array, in channels-last order, or time step by time step if the model is. */
    final INDArray createLike(INDArray model, LayerWorkspaceMgr workspaceMgr, ArrayType place, long... shape) {
        return TimeSteps.areStepByStep(model)
                ? TimeSteps.create(workspaceMgr, place, request.type(), shape[0], shape[1], shape[2])
                : create(workspaceMgr, place, shape);
    }

    /** Returns a new array in channels-last order. */
    final INDArray create(LayerWorkspaceMgr workspaceMgr, ArrayType place, long... shape) {
        return Workspaces.channelsLast(workspaceMgr, place, request.type(), shape);
    }

    /** Returns the layout that {@link #create} gives an array of a shape. */
    final Layout layout(long... shape) {
        return Layout.channelsLast(request.type(), shape);
    }

    /** Closes kernels of its own; copies are the context's. */
    @Override
    public void close() {}
}
