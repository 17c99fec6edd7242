package org.dl4jamp.onednn.shape;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SpaceToDepthLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A layer that moves the pixels of square blocks of images to the channels of one pixel. */
final class SpaceToDepthTwin extends ParameterlessTwin<SpaceToDepthLayer> {
    private static final long serialVersionUID = 1L;

    private final int block;

    SpaceToDepthTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ChannelAxis.of(((SpaceToDepthLayer) conf.getLayer()).getDataFormat()));
        this.block = layerConf().getBlockSize();
    }

    private boolean takes(INDArray images) {
        return images.rank() == 4 && images.size(2) % block == 0 && images.size(3) % block == 0;
    }

    @Override
    protected long[] outputShape() {
        INDArray images = given();
        if (!takes(images)) {
            reject();
        }
        return new long[] {
            images.size(0), images.size(1) * block * block, images.size(2) / block, images.size(3) / block
        };
    }

    /**
     * Returns a view {@code [minibatch, blocks down, blocks across, rows, columns, channels]} of images with the
     * channels last in memory.
     */
    private INDArray blocks(INDArray images) {
        long down = images.size(2) / block;
        long across = images.size(3) / block;
        return Workspaces.contiguous(images)
                .reshape('c', images.size(0), down, block, across, block, images.size(1))
                .permute(0, 1, 3, 2, 4, 5);
    }

    /** Returns the same view of the layer's output. */
    private INDArray pixels(INDArray output) {
        long channels = output.size(1) / block / block;
        return Workspaces.contiguous(output)
                .reshape('c', output.size(0), output.size(2), output.size(3), block, block, channels);
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        context().copies().copy(blocks(ready(workspaceMgr, ArrayType.FF_WORKING_MEM)), pixels(output));
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = ready(epsilon, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        context().copies().copy(pixels(above), blocks(next));
    }
}
