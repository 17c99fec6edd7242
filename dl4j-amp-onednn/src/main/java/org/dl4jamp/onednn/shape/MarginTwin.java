package org.dl4jamp.onednn.shape;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Zero padding and cropping of sequences, images and volumes: each is the other's backward pass. */
final class MarginTwin extends ParameterlessTwin<Layer> implements Twin.Repeatable {
    private static final long serialVersionUID = 1L;

    private final transient Margins margins;

    MarginTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        this(conf, type, context, Margins.of(conf.getLayer()));
    }

    private MarginTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, Margins margins) {
        super(conf, type, context, margins.channels());
        this.margins = margins;
    }

    @Override
    public boolean isRepeatable() {
        return true;
    }

    @Override
    protected long[] outputShape() {
        if (!margins.fit(given())) {
            reject();
        }
        return margins.outputShape(given());
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        copy(given(), output, margins.adds());
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        copy(epsilon, next, !margins.adds());
    }

    private void copy(INDArray from, INDArray to, boolean adds) {
        if (adds) {
            context().tape().clear(to);
            context().copies().copyOrAssign(from, margins.inside(to));
        } else {
            context().copies().copyOrAssign(margins.inside(from), to);
        }
    }
}
