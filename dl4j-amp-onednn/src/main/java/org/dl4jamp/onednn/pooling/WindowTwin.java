package org.dl4jamp.onednn.pooling;

import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.LentGradients;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A number of each window along one, two or three axes of {@code [minibatch, channels, ...]}. */
abstract class WindowTwin extends ParameterlessTwin<Layer> {
    private static final long serialVersionUID = 1L;

    private final transient PoolingForm form;
    private final transient LentGradients.OfInput inputGradient;

    WindowTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, PoolingForm form) {
        super(conf, type, context, form.channels());
        this.form = form;
        this.inputGradient = context.lentGradients().ofInput();
    }

    final PoolingForm form() {
        return form;
    }

    /** Rejects an input whose shape DL4J rejects. */
    final void check(INDArray given) {
        if (given.rank() != form.window().axes() + 2) {
            reject();
        }
        if (!form.window().fits(Workspaces.extents(given))) {
            rejectUnlessDl4jTakes();
        }
    }

    @Override
    public void lendInputGradient() {
        inputGradient.lend();
    }

    @Override
    protected final INDArray inputGradient(LayerWorkspaceMgr workspaceMgr, long... shape) {
        return inputGradient.create(workspaceMgr, dataType, shape);
    }

    private boolean masksSteps() {
        return maskArray != null && layerConf() instanceof Subsampling1DLayer;
    }

    /** Masks an output, in place. */
    final void mask(INDArray output) {
        if (masksSteps()) {
            form.window().mask(maskArray, output);
        }
    }

    /** Returns the gradient of the output before it was masked. */
    final INDArray masked(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        if (!masksSteps()) {
            return epsilon;
        }
        INDArray own = workspaceMgr.dup(ArrayType.BP_WORKING_MEM, epsilon);
        mask(own);
        return own;
    }

    /** DL4J's layers look at the mask of their input only if they were given one themselves. */
    @Override
    public final Pair<INDArray, MaskState> feedForwardMaskArray(INDArray mask, MaskState state, int minibatchSize) {
        return new Pair<>(mask, state);
    }
}
