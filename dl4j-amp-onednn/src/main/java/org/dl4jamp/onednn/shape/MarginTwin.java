package org.dl4jamp.onednn.shape;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Zero padding and cropping of sequences, images and volumes: each is the other's backward pass. */
final class MarginTwin extends ParameterlessTwin<Layer> {
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
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (!margins.fit(given())) {
            reject();
        }
        INDArray output =
                Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, dataType, margins.outputShape(given()));
        return handedOn(margins.adds() ? add(given(), output) : cut(given(), output));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        INDArray above = margins.channels().toSecond(epsilon);
        Rejection.ofEpsilon(layerId(), above, margins.outputShape(given()));
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, given().shape());
        return new Pair<>(new DefaultGradient(), handedOn(margins.adds() ? cut(above, next) : add(above, next)));
    }

    private INDArray add(INDArray from, INDArray to) {
        Workspaces.clear(to);
        context().copies().copyOrAssign(from, margins.inside(to));
        return to;
    }

    private INDArray cut(INDArray from, INDArray to) {
        context().copies().copyOrAssign(margins.inside(from), to);
        return to;
    }

    @Override
    public void close() {
        // The copies are the context's.
    }
}
