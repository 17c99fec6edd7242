package org.dl4jamp.onednn.vertex;

import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The examples of an FP32 array, divided by their Euclidean norms, which are summed up in double. */
final class UnitLengthTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private final int[] dimension;
    /** The least norm that divides. */
    private final double least;

    UnitLengthTwin(VertexRequest request, L2NormalizeVertex vertex, OneDnnContext context) {
        super(request, context);
        this.dimension = vertex.getDimension();
        this.least = vertex.getEps();
    }

    /** DL4J's vertex computes, or fails with, norms over other axes than all but the first. */
    @Override
    protected boolean covers(INDArray[] inputs) {
        int rank = inputs[0].rank();
        boolean isWholeExample =
                dimension == null || dimension.length == 0 || (rank == 2 && dimension.length == 1 && dimension[0] == 1);
        return request().type() == DataType.FLOAT && inputs.length == 1 && rank >= 2 && rank <= 4 && isWholeExample;
    }

    private ExampleBlocks blocks(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return new ExampleBlocks(channelsLast(array, workspaceMgr, working));
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output = create(workspaceMgr, ArrayType.ACTIVATIONS, inputs[0].shape());
        ExampleBlocks from = blocks(inputs[0], workspaceMgr, ArrayType.FF_WORKING_MEM);
        ExampleBlocks to = new ExampleBlocks(output);
        for (int example = 0; example < from.examples(); example++) {
            float[] block = from.read(example);
            to.write(example, ExampleBlocks.scaled(block, (float) (1 / Math.max(ExampleBlocks.norm(block), least))));
        }
        return output;
    }

    /** Computes e / |x| - x (e x) / |x|³, with DL4J's limit of |x| and of its cube. */
    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray gradient = create(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[0].shape());
        ExampleBlocks from = blocks(inputs[0], workspaceMgr, ArrayType.BP_WORKING_MEM);
        ExampleBlocks above = blocks(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        ExampleBlocks to = new ExampleBlocks(gradient);
        for (int example = 0; example < from.examples(); example++) {
            float[] block = from.read(example);
            float[] next = above.read(example);
            double norm = ExampleBlocks.norm(block);
            float along = (float) (ExampleBlocks.product(next, block) / Math.max(norm * norm * norm, least));
            float across = (float) (1 / Math.max(norm, least));
            for (int i = 0; i < block.length; i++) {
                next[i] = next[i] * across - block[i] * along;
            }
            to.write(example, next);
        }
        return new INDArray[] {gradient};
    }
}
