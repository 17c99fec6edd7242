package org.dl4jamp.onednn.pretrained;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.params.VariationalAutoencoderParamInitializer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.Solver;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * A variational autoencoder in pretraining: encoder, code drawn from mean and deviation, decoder. DL4J's own classes
 * compute the distribution of the reconstruction, and ND4J draws DL4J's random numbers (Kingma and Welling, 2013).
 */
final class PretrainedVariational extends VariationalAutoencoder implements Pretrainer.Pretrained {
    private static final long serialVersionUID = 1L;

    private final transient VariationalStages stages;
    private transient Gate gate;
    /** Gradients of one sample of the code, if there are several; their sum is in the network's view. */
    private transient Map<String, INDArray> ofSample;

    private transient INDArray ofSampleFlattened;

    /**
     * The distribution of the code. Traces are those of its mean and of the logarithm of its variance.
     *
     * @param variance {@code [minibatch, nOut]}, as is {@code deviation}
     */
    private record Code(Stage.Trace mean, Stage.Trace logVariance, INDArray variance, INDArray deviation) {}

    PretrainedVariational(NeuralNetConfiguration conf, OneDnnContext context) {
        super(conf, DataType.FLOAT);
        stages = VariationalStages.of(context, layerId(), DataType.FLOAT, layerConf());
    }

    @Override
    public void step(Solver solver, Gate entered, INDArray rows, LayerWorkspaceMgr workspaceMgr) {
        gate = entered;
        setInput(rows, workspaceMgr);
        optimizer = solver.getOptimizer();
        // As in DL4J's layer: all arrays go where the network has opened a workspace.
        solver.optimize(LayerWorkspaceMgr.noWorkspaces());
    }

    /** Does nothing if they are the layer's own: DL4J's optimizer has stepped in place. */
    @Override
    public void setParams(INDArray given) {
        if (!isOwn(given)) {
            super.setParams(given);
        }
    }

    @SuppressWarnings("ReferenceEquality")
    private boolean isOwn(INDArray given) {
        return given == paramsFlattened;
    }

    @Override
    public void computeGradientAndScore(LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = gate.enter()) {
            compute();
        }
    }

    private void compute() {
        List<Stage.Trace> encoder =
                VariationalStages.forward(stages.encoder(), input, params, true, WorkingMemory.OPEN);
        Code code = code(VariationalStages.last(encoder).values());
        score = scoreOfCode(code) + calcRegularizationScore(false);
        for (int sample = 0; sample < numSamples; sample++) {
            Map<String, INDArray> gradients = sample == 0 ? gradientViews : gradientsOfSample();
            INDArray noise = Nd4j.randn(dataType, code.deviation().shape());
            INDArray drawn = code.deviation().mul(noise).addi(code.mean().values());
            INDArray epsilon = decode(drawn, encoder, sample == 0, gradients);
            encode(epsilon, noise, code, encoder, gradients);
            if (sample > 0) {
                gradientsFlattened.addi(ofSampleFlattened);
            }
        }
        if (numSamples > 1) {
            gradientsFlattened.muli(1.0 / numSamples);
        }
        gradient = named();
    }

    private Code code(INDArray encoded) {
        Stage.Trace mean = stages.mean().forward(encoded, params, true, WorkingMemory.OPEN);
        Stage.Trace logVariance = stages.logVariance().forward(encoded, params, true, WorkingMemory.OPEN);
        INDArray variance = Transforms.exp(logVariance.values(), true);
        return new Code(mean, logVariance, variance, Transforms.sqrt(variance, true));
    }

    /** Returns the mean divergence of the code's distribution from the standard normal one. */
    private double scoreOfCode(Code code) {
        INDArray mean = code.mean().values();
        INDArray terms = mean.mul(mean)
                .addi(code.variance())
                .negi()
                .addi(code.logVariance().values())
                .addi(1.0);
        return -0.5 / input.size(0) * terms.sumNumber().doubleValue();
    }

    /**
     * Adds the reconstruction's part of the score, and writes the gradients of the decoder.
     *
     * @return the gradient of the code
     */
    private INDArray decode(INDArray drawn, List<Stage.Trace> encoder, boolean first, Map<String, INDArray> gradients) {
        WorkingMemory memory = WorkingMemory.OPEN;
        List<Stage.Trace> decoder = VariationalStages.forward(stages.decoder(), drawn, params, true, memory);
        Stage.Trace output =
                stages.reconstruction().forward(VariationalStages.last(decoder).values(), params, true, memory);
        score += reconstructionDistribution.negLogProbability(input, output.values(), true) / numSamples;
        if (first) {
            inform(encoder, drawn, decoder, output.values());
        }
        INDArray epsilon = reconstructionDistribution.gradient(input, output.values());
        INDArray above = stages.reconstruction().backward(output, epsilon, params, gradients, memory);
        INDArray delta = VariationalStages.backwardToFirst(stages.decoder(), decoder, above, params, gradients, memory);
        return stages.decoder()
                .get(0)
                .backwardData(drawn, delta, params, memory.create(dataType, drawn.shape()), memory);
    }

    /** Writes the gradients of the encoder. */
    private void encode(
            INDArray epsilon, INDArray noise, Code code, List<Stage.Trace> encoder, Map<String, INDArray> gradients) {
        WorkingMemory memory = WorkingMemory.OPEN;
        INDArray ofMean = epsilon.add(code.mean().values());
        INDArray ofLogVariance = epsilon.mul(noise)
                .muli(code.deviation())
                .addi(code.variance())
                .subi(1)
                .muli(0.5);
        INDArray above = stages.mean().backward(code.mean(), ofMean, params, gradients, memory);
        above.addi(stages.logVariance().backward(code.logVariance(), ofLogVariance, params, gradients, memory));
        VariationalStages.backwardToFirst(stages.encoder(), encoder, above, params, gradients, memory);
    }

    private Map<String, INDArray> gradientsOfSample() {
        if (ofSample == null) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                ofSampleFlattened = gradientsFlattened.ulike();
                ofSample = conf.getLayer().initializer().getGradientsFromFlattened(conf, ofSampleFlattened);
            }
        }
        return ofSample;
    }

    /** Notifies listeners of the activations of the first sample, under DL4J's names. */
    private void inform(List<Stage.Trace> encoder, INDArray drawn, List<Stage.Trace> decoder, INDArray reconstruction) {
        if (trainingListeners.isEmpty()) {
            return;
        }
        Map<String, INDArray> activations = new LinkedHashMap<>();
        for (int number = 0; number < encoder.size(); number++) {
            activations.put("e" + number, encoder.get(number).values());
        }
        activations.put(VariationalAutoencoderParamInitializer.PZX_PREFIX, drawn);
        for (int number = 0; number < decoder.size(); number++) {
            activations.put("d" + number, decoder.get(number).values());
        }
        activations.put(
                VariationalAutoencoderParamInitializer.PXZ_PREFIX,
                reconstructionDistribution.generateAtMean(reconstruction));
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (TrainingListener listener : trainingListeners) {
                listener.onForwardPass(this, activations);
            }
        }
    }

    private DefaultGradient named() {
        DefaultGradient named = new DefaultGradient(gradientsFlattened);
        List<Stage> inOrder = new ArrayList<>(stages.encoder());
        inOrder.add(stages.mean());
        inOrder.add(stages.logVariance());
        inOrder.addAll(stages.decoder());
        inOrder.add(stages.reconstruction());
        for (Stage stage : inOrder) {
            for (String name : List.of(stage.names().weights(), stage.names().bias())) {
                named.gradientForVariable().put(name, gradientViews.get(name));
            }
        }
        return named;
    }

    @Override
    public void close() {
        stages.close();
    }
}
