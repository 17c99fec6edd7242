package org.dl4jamp.onednn.shape;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SpaceToDepthLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.nd4j.common.primitives.Pair;
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

    private long[] outputShape(INDArray images) {
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
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (!takes(given())) {
            reject();
        }
        INDArray x = ready(input, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, dataType, outputShape(x));
        context().copies().copy(blocks(x), pixels(output));
        return handedOn(output);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        INDArray above = ready(epsilon, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        Rejection.ofEpsilon(layerId(), above, outputShape(given()));
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, given().shape());
        context().copies().copy(pixels(above), blocks(next));
        return new Pair<>(new DefaultGradient(), handedOn(next));
    }

    @Override
    public void close() {
        // The copies are the context's.
    }
}
