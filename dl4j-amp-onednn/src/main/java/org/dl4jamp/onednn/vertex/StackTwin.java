package org.dl4jamp.onednn.vertex;

import java.util.Arrays;
import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The examples of several arrays, one after the other. Sequences may differ in length: zeros follow shorter ones. */
final class StackTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private static final int EXAMPLES = 0;
    private static final int TIME = 2;

    StackTwin(VertexRequest request, OneDnnContext context) {
        super(request, context);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        int rank = inputs[0].rank();
        return rank >= 2 && rank <= 4 && Arrays.stream(inputs).allMatch(input -> isLike(inputs[0], input));
    }

    private static boolean isLike(INDArray first, INDArray other) {
        // ND4J returns its own arrays.
        long[] shape = first.shape().clone();
        if (other.rank() == 3 && shape.length == 3) {
            shape[TIME] = other.size(TIME);
        }
        return Arrays.equals(shape, other.shape());
    }

    private static boolean areOfOneLength(INDArray[] inputs) {
        return Arrays.stream(inputs).allMatch(inputs[0]::equalShapes);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        long[] shape = inputs[0].shape().clone();
        shape[EXAMPLES] *= inputs.length;
        if (!areOfOneLength(inputs)) {
            shape[TIME] = Arrays.stream(inputs)
                    .mapToLong(input -> input.size(TIME))
                    .max()
                    .orElseThrow();
        }
        return Optional.of(shape);
    }

    /** Returns the part of the whole that one of the inputs is. */
    private static INDArray part(INDArray whole, INDArray[] inputs, int number) {
        long examples = inputs[number].size(EXAMPLES);
        INDArray part = Workspaces.range(whole, EXAMPLES, number * examples, examples);
        return areOfOneLength(inputs) ? part : Workspaces.range(part, TIME, 0, inputs[number].size(TIME));
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output = createLike(
                inputs[0],
                workspaceMgr,
                ArrayType.ACTIVATIONS,
                outputShape(inputs).orElseThrow());
        if (!areOfOneLength(inputs)) {
            Workspaces.clear(output);
        }
        for (int i = 0; i < inputs.length; i++) {
            context().copies().copy(inputs[i], part(output, inputs, i));
        }
        return output;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray[] gradients = new INDArray[inputs.length];
        for (int i = 0; i < inputs.length; i++) {
            gradients[i] = createLike(inputs[i], workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[i].shape());
            context().copies().copy(part(epsilon, inputs, i), gradients[i]);
        }
        return gradients;
    }
}
