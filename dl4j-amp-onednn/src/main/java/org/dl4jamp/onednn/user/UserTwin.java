package org.dl4jamp.onednn.user;

import java.util.Arrays;
import java.util.Map;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.extension.LayerKernel;
import org.dl4jamp.extension.LayerPasses;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.precision.AmpException;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A layer of a user's class, computed by the user's kernel. */
public final class UserTwin extends AbstractLayer<Layer> implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient LayerPasses passes;
    private final transient String kernel;
    private transient INDArray parameters;
    private transient Map<String, INDArray> parameterTable = Map.of();
    private transient Map<String, INDArray> gradientTable;

    private UserTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, String kernel, LayerPasses of) {
        super(conf, type);
        this.context = context;
        this.kernel = kernel;
        this.passes = of;
    }

    static <L extends Layer> UserTwin make(
            LayerKernel<L> kernel, NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        String name = kernel.getClass().getName();
        L layer = kernel.layerClass().cast(conf.getLayer());
        LayerPasses passes = kernel.passes(layer);
        if (passes == null) {
            throw new AmpException("kernel " + name + " returned null as the passes of layer \"" + layer.getLayerName()
                    + "\" (" + layer.getClass().getName() + ")");
        }
        return new UserTwin(conf, type, context, name, passes);
    }

    /**
     * Refuses layers that the network calls for more than activations and gradients. A configuration doesn't tell them.
     *
     * @throws AmpException if a layer is one of them
     */
    public void requireOrdinary(org.deeplearning4j.nn.api.Layer master, String name) {
        if (master instanceof IOutputLayer || master instanceof RecurrentLayer) {
            throw new AmpException("kernel " + kernel + " is for layer \"" + name + "\" of "
                    + master.getClass().getName() + ", which is "
                    + (master instanceof IOutputLayer ? "an output layer" : "a recurrent layer")
                    + ": a kernel of a user's can't compute one");
        }
    }

    private String what() {
        return "kernel " + kernel + " of layer " + layerId();
    }

    private INDArray ready(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().dense(array, workspaceMgr, working);
    }

    private UserArrays arrays(boolean backward, boolean training, LayerWorkspaceMgr workspaceMgr) {
        return new UserArrays(
                context,
                what(),
                dataType,
                parameterTable,
                backward ? gradientTable : null,
                maskArray,
                backward,
                training,
                workspaceMgr);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        UserArrays arrays = arrays(false, training, workspaceMgr);
        INDArray given = ready(input, workspaceMgr, ArrayType.FF_WORKING_MEM);
        return arrays.returned(passes.forward(given, arrays), "forward");
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        UserArrays arrays = arrays(true, true, workspaceMgr);
        INDArray given = ready(input, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray above = ready(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray next = arrays.returned(passes.backward(given, above, arrays), "backward");
        if (!Arrays.equals(next.shape(), input.shape())) {
            throw new AmpException(what() + " returned " + Arrays.toString(next.shape())
                    + " from backward as the gradient of an input of shape " + Arrays.toString(input.shape()));
        }
        arrays.requireGradients();
        context.lentGradients().giveBack(epsilon);
        Gradient gradient = new DefaultGradient();
        if (gradientTable != null) {
            gradientTable.forEach(gradient::setGradientFor);
        }
        return new Pair<>(gradient, next);
    }

    @Override
    public void setParamsViewArray(INDArray view) {
        parameters = view;
    }

    @Override
    public void setParamTable(Map<String, INDArray> table) {
        parameterTable = table;
    }

    @Override
    public INDArray getParam(String name) {
        return parameterTable.get(name);
    }

    @Override
    public Map<String, INDArray> paramTable(boolean backpropOnly) {
        return parameterTable;
    }

    @Override
    public INDArray params() {
        return parameters;
    }

    @Override
    public long numParams() {
        return parameters == null ? 0 : parameters.length();
    }

    @Override
    public void setBackpropGradientsViewArray(INDArray view) {
        gradientTable = parameters == null || view == null
                ? null
                : conf.getLayer().initializer().getGradientsFromFlattened(conf, view);
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void clearNoiseWeightParams() {
        // Layers with noise have no kernel of a user's.
    }

    @Override
    public void close() {
        passes.close();
    }
}
