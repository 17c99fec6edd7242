package org.dl4jamp.onednn.pretrained;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.autoencoder.AutoEncoder;
import org.deeplearning4j.nn.params.PretrainParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An autoencoder of {@code [minibatch, nIn]}. In passes of the network it's a dense layer, its encoder. As DL4J's layer
 * it masks gradients and not its output.
 */
final class AutoEncoderTwin extends AutoEncoder implements OneDnnTwin, Twin.OptionalInputGradient, Twin.Pretraining {
    private static final long serialVersionUID = 1L;

    static final Stage.Names ENCODER =
            new Stage.Names(PretrainParamInitializer.WEIGHT_KEY, PretrainParamInitializer.BIAS_KEY);

    private final transient Stage encoder;
    private final transient Pretrainer<PretrainedAutoEncoder> pretrainer;
    private transient boolean inputGradientUnwanted;

    AutoEncoderTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.encoder = new Stage(context, layerId(), ENCODER, type, layerConf().getActivationFn());
        this.pretrainer = new Pretrainer<>(masters -> new PretrainedAutoEncoder(masters, context));
    }

    private Stage.Trace trace(boolean training, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        if (input.rank() != 2 || input.size(1) != getParam(ENCODER.weights()).size(0)) {
            Rejection.of(conf, paramsFlattened, index, input);
        }
        return encoder.forward(input, params, training, WorkingMemory.of(workspaceMgr, working));
    }

    @Override
    public INDArray encode(INDArray rows, boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        return encoder.activations(trace(training, ArrayType.FF_WORKING_MEM, workspaceMgr), workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        WorkingMemory memory = WorkingMemory.of(workspaceMgr, ArrayType.BP_WORKING_MEM);
        Stage.Trace trace = trace(true, ArrayType.BP_WORKING_MEM, workspaceMgr);
        Rejection.ofEpsilon(layerId(), epsilon, trace.sums().shape());
        INDArray delta = encoder.delta(trace, epsilon, memory);
        if (maskArray != null) {
            delta = delta.mulColumnVector(maskArray.castTo(DataType.FLOAT));
        }
        encoder.backwardWeights(trace.input(), delta, params, ENCODER.in(gradientViews), memory);
        INDArray next = inputGradientUnwanted ? null : encoder.inputGradient(trace, delta, params, workspaceMgr);
        return new Pair<>(gradients(), next);
    }

    private Gradient gradients() {
        Gradient gradient = new DefaultGradient(gradientsFlattened);
        gradient.setGradientFor(ENCODER.bias(), gradientViews.get(ENCODER.bias()));
        gradient.setGradientFor(ENCODER.weights(), gradientViews.get(ENCODER.weights()));
        INDArray ofDecoder = gradientViews.get(PretrainParamInitializer.VISIBLE_BIAS_KEY);
        ofDecoder.assign(0);
        gradient.setGradientFor(PretrainParamInitializer.VISIBLE_BIAS_KEY, ofDecoder);
        return gradient;
    }

    @Override
    public Layer pretrain(Layer master, Gate gate, INDArray rows, LayerWorkspaceMgr workspaceMgr) {
        return pretrainer.step(master, gate, rows, workspaceMgr);
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    @Override
    public Twin.Weights keptWeights() {
        return encoder.weights();
    }

    @Override
    public void close() {
        encoder.close();
        pretrainer.close();
    }
}
