package org.dl4jamp.onednn.shape;

import java.util.Arrays;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseUpsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.Upsampling3D;
import org.deeplearning4j.nn.conf.layers.misc.RepeatVector;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.dl4jamp.onednn.twin.RepetitionKernels;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Upsampling of sequences, images and volumes, which repeats each number along their axes, and repetition of vectors
 * {@code [minibatch, size]} along time. Gradients of repeated numbers are added up in FP32.
 */
final class RepetitionTwin extends ParameterlessTwin<Layer> {
    private static final long serialVersionUID = 1L;

    private final boolean ofVectors;
    private final long[] factors;
    private final transient KernelCache<Layout, RepetitionKernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    RepetitionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, axis(conf.getLayer()));
        this.ofVectors = conf.getLayer() instanceof RepeatVector;
        this.factors = factors(conf.getLayer());
    }

    static ChannelAxis axis(Layer layer) {
        if (layer instanceof RepeatVector vector) {
            return ChannelAxis.of(vector.getDataFormat());
        }
        if (layer instanceof Upsampling3D volume) {
            return ChannelAxis.of(volume.getDataFormat());
        }
        return layer instanceof Upsampling2D images ? ChannelAxis.of(images.getFormat()) : ChannelAxis.SECOND;
    }

    private static long[] factors(Layer layer) {
        if (layer instanceof RepeatVector vector) {
            return new long[] {vector.getN()};
        }
        int axes = layer instanceof Upsampling3D ? 3 : layer instanceof Upsampling2D ? 2 : 1;
        return Arrays.stream(((BaseUpsamplingLayer) layer).getSize(), 0, axes)
                .asLongStream()
                .toArray();
    }

    /** Returns the input's shape, that of vectors with a time axis of one step. */
    private long[] coarseShape(INDArray given) {
        return ofVectors
                ? Workspaces.shape(given.size(0), given.size(1), 1)
                : given.shape().clone();
    }

    private long[] fineShape(INDArray given) {
        long[] fine = coarseShape(given);
        for (int i = 0; i < factors.length; i++) {
            fine[i + 2] *= factors[i];
        }
        return fine;
    }

    private RepetitionKernels kernels(INDArray given) {
        Layout coarse = Layout.channelsLast(dataType, coarseShape(given));
        return kernels.get(
                coarse,
                () -> RepetitionKernels.make(
                        context(), layerId(), coarse, Layout.channelsLast(dataType, fineShape(given))));
    }

    @Override
    protected long[] outputShape() {
        if (given().rank() != (ofVectors ? 2 : factors.length + 2)) {
            reject();
        }
        return fineShape(given());
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        kernels(given()).repeat(ready(workspaceMgr, ArrayType.FF_WORKING_MEM), output);
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        kernels(given()).sum(ready(epsilon, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM), next);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
