package org.dl4jamp.onednn.vertex;

import java.util.Optional;
import org.deeplearning4j.nn.graph.vertex.impl.L2Vertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The Euclidean distances {@code [minibatch, 1]} between the examples of two FP32 arrays, summed up in double. */
final class DistanceTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    /** The least distance by which a gradient is divided. */
    private final double least;

    DistanceTwin(VertexRequest request, OneDnnContext context) {
        super(request, context);
        this.least = HiddenFields.least((L2Vertex) request.master());
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return request().type() == DataType.FLOAT
                && inputs.length == 2
                && inputs[0].rank() >= 2
                && inputs[0].equalShapes(inputs[1]);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        return Optional.of(new long[] {inputs[0].size(0), 1});
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output = create(workspaceMgr, ArrayType.ACTIVATIONS, inputs[0].size(0), 1);
        ExampleBlocks one = blocks(inputs[0], workspaceMgr, ArrayType.FF_WORKING_MEM);
        ExampleBlocks other = blocks(inputs[1], workspaceMgr, ArrayType.FF_WORKING_MEM);
        ExampleBlocks distances = new ExampleBlocks(output);
        for (int example = 0; example < one.examples(); example++) {
            float[] difference = difference(one.read(example), other.read(example));
            distances.write(example, (float) ExampleBlocks.norm(difference));
        }
        return output;
    }

    private ExampleBlocks blocks(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return new ExampleBlocks(channelsLast(array, workspaceMgr, working));
    }

    private static float[] difference(float[] from, float[] other) {
        for (int i = 0; i < from.length; i++) {
            from[i] -= other[i];
        }
        return from;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        ExampleBlocks one = blocks(inputs[0], workspaceMgr, ArrayType.BP_WORKING_MEM);
        ExampleBlocks other = blocks(inputs[1], workspaceMgr, ArrayType.BP_WORKING_MEM);
        ExampleBlocks above = blocks(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray[] gradients = {
            create(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[0].shape()),
            create(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[1].shape())
        };
        ExampleBlocks first = new ExampleBlocks(gradients[0]);
        ExampleBlocks second = new ExampleBlocks(gradients[1]);
        for (int example = 0; example < one.examples(); example++) {
            float[] difference = difference(one.read(example), other.read(example));
            float factor = above.read(example)[0] / (float) Math.max(ExampleBlocks.norm(difference), least);
            first.write(example, ExampleBlocks.scaled(difference, factor));
            second.write(example, ExampleBlocks.scaled(difference, -1));
        }
        return gradients;
    }
}
