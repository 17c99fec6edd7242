package org.dl4jamp.onednn.pretrained;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.layers.feedforward.autoencoder.AutoEncoder;
import org.deeplearning4j.nn.params.PretrainParamInitializer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.Solver;
import org.dl4jamp.onednn.linear.ProductKernels.Parameters;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * An autoencoder in pretraining: encoder, and decoder with the encoder's weights. Its gradients are those of DL4J's
 * layer, which take any activation function for the sigmoid. DL4J's own code corrupts the input and computes the score.
 */
final class PretrainedAutoEncoder extends AutoEncoder implements Pretrainer.Pretrained {
    private static final long serialVersionUID = 1L;

    private static final String VISIBLE = PretrainParamInitializer.VISIBLE_BIAS_KEY;

    private final transient Stage encoder;
    private final transient Stage decoder;
    private transient Gate gate;

    PretrainedAutoEncoder(NeuralNetConfiguration conf, OneDnnContext context) {
        super(conf, DataType.FLOAT);
        var function = layerConf().getActivationFn();
        encoder = new Stage(context, layerId(), AutoEncoderTwin.ENCODER, DataType.FLOAT, function);
        Stage.Names names = new Stage.Names(PretrainParamInitializer.WEIGHT_KEY, VISIBLE, true);
        decoder = new Stage(context, layerId(), names, DataType.FLOAT, function);
    }

    @Override
    public void step(Solver solver, Gate entered, INDArray rows, LayerWorkspaceMgr workspaceMgr) {
        gate = entered;
        setInput(rows, workspaceMgr);
        optimizer = solver.getOptimizer();
        solver.optimize(workspaceMgr);
    }

    @Override
    public void computeGradientAndScore(LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = gate.enter()) {
            compute(workspaceMgr);
        }
    }

    private void compute(LayerWorkspaceMgr workspaceMgr) {
        WorkingMemory memory = WorkingMemory.OPEN;
        INDArray clean = input.castTo(dataType);
        double level = layerConf().getCorruptionLevel();
        INDArray corrupted = level > 0 ? getCorruptedInput(clean, level) : clean;
        // DL4J's score compares with the corrupted input.
        setInput(corrupted, workspaceMgr);
        Stage.Trace code = encoder.forward(corrupted, params, true, memory);
        Stage.Trace copy = decoder.forward(code.values(), params, true, memory);
        INDArray visible = clean.sub(copy.values());
        INDArray hidden = decoder.backwardData(
                code.values(),
                visible,
                params,
                memory.create(dataType, code.values().shape()),
                memory);
        double sparsity = layerConf().getSparsity();
        hidden.muli(code.values())
                .muli(sparsity == 0 ? code.values().rsub(1) : code.values().add(-sparsity));
        INDArray weights = gradientViews.get(PretrainParamInitializer.WEIGHT_KEY);
        INDArray ofDecoder = Nd4j.createUninitialized(dataType, weights.shape(), 'f');
        decoder.backwardWeights(
                code.values(), visible, params, new Parameters(ofDecoder, gradientViews.get(VISIBLE)), memory);
        encoder.backwardWeights(code.input(), hidden, params, AutoEncoderTwin.ENCODER.in(gradientViews), memory);
        weights.addi(ofDecoder);
        gradient = new DefaultGradient(gradientsFlattened);
        Map<String, INDArray> named = gradient.gradientForVariable();
        for (String name :
                new String[] {PretrainParamInitializer.WEIGHT_KEY, PretrainParamInitializer.BIAS_KEY, VISIBLE}) {
            named.put(name, gradientViews.get(name));
        }
        setScoreWithZ(copy.values());
    }

    @Override
    public void close() {
        encoder.close();
        decoder.close();
    }
}
