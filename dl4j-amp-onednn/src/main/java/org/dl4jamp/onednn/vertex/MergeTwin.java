package org.dl4jamp.onednn.vertex;

import java.util.Arrays;
import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Several arrays, one after the other along an axis. */
final class MergeTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private final int given;

    /** @param axis counted from the last one if it's negative, as in networks imported from Keras */
    MergeTwin(VertexRequest request, int axis, OneDnnContext context) {
        super(request, context);
        this.given = axis;
    }

    private int axisOf(INDArray[] inputs) {
        return given < 0 ? given + inputs[0].rank() : given;
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        int axis = axisOf(inputs);
        return inputs.length > 1
                && axis >= 0
                && inputs[0].rank() > axis
                && Arrays.stream(inputs).allMatch(input -> differsOnlyAlong(axis, inputs[0], input));
    }

    private static boolean differsOnlyAlong(int axis, INDArray first, INDArray other) {
        // ND4J returns its own arrays.
        long[] a = first.shape().clone();
        long[] b = other.shape();
        if (a.length != b.length) {
            return false;
        }
        a[axis] = b[axis];
        return Arrays.equals(a, b);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        int axis = axisOf(inputs);
        long[] shape = inputs[0].shape().clone();
        shape[axis] = Arrays.stream(inputs).mapToLong(input -> input.size(axis)).sum();
        return Optional.of(shape);
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output =
                create(workspaceMgr, ArrayType.ACTIVATIONS, outputShape(inputs).orElseThrow());
        int axis = axisOf(inputs);
        long start = 0;
        for (INDArray input : inputs) {
            context().copies().copy(input, Workspaces.range(output, axis, start, input.size(axis)));
            start += input.size(axis);
        }
        return output;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        int axis = axisOf(inputs);
        INDArray[] gradients = new INDArray[inputs.length];
        long start = 0;
        for (int i = 0; i < inputs.length; i++) {
            gradients[i] = create(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[i].shape());
            context().copies().copy(Workspaces.range(epsilon, axis, start, inputs[i].size(axis)), gradients[i]);
            start += inputs[i].size(axis);
        }
        return gradients;
    }
}
