package org.dl4jamp.onednn.pretrained;

import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.variational.VariationalAutoencoder;
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
 * A variational autoencoder of {@code [minibatch, nIn]}. In passes of the network it's a chain of dense layers: its
 * encoder, up to the mean of the code.
 */
final class VariationalTwin extends VariationalAutoencoder
        implements OneDnnTwin, Twin.OptionalInputGradient, Twin.Pretraining {
    private static final long serialVersionUID = 1L;

    private final transient VariationalStages stages;
    private final transient Pretrainer<PretrainedVariational> pretrainer;
    private transient boolean inputGradientUnwanted;

    /** The traces of the encoder, and of the mean behind it. */
    private record Traces(List<Stage.Trace> encoder, Stage.Trace mean) {}

    VariationalTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.stages = VariationalStages.of(context, layerId(), type, layerConf());
        this.pretrainer = new Pretrainer<>(masters -> new PretrainedVariational(masters, context));
    }

    private Traces traces(boolean training, WorkingMemory memory) {
        long nIn = getParam(stages.encoder().get(0).names().weights()).size(0);
        if (input.rank() != 2 || input.size(1) != nIn) {
            Rejection.of(conf, paramsFlattened, index, input);
        }
        List<Stage.Trace> encoder = VariationalStages.forward(stages.encoder(), input, params, training, memory);
        return new Traces(
                encoder, stages.mean().forward(VariationalStages.last(encoder).values(), params, training, memory));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        Traces traces = traces(training, WorkingMemory.of(workspaceMgr, ArrayType.FF_WORKING_MEM));
        return stages.mean().activations(traces.mean(), workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        WorkingMemory memory = WorkingMemory.of(workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (!zeroedPretrainParamGradients) {
            gradientViews.forEach((name, view) -> {
                if (isPretrainParam(name)) {
                    view.assign(0);
                }
            });
            zeroedPretrainParamGradients = true;
        }
        Traces traces = traces(true, memory);
        Rejection.ofEpsilon(layerId(), epsilon, traces.mean().sums().shape());
        INDArray above = stages.mean().backward(traces.mean(), epsilon, params, gradientViews, memory);
        INDArray delta = VariationalStages.backwardToFirst(
                stages.encoder(), traces.encoder(), above, params, gradientViews, memory);
        Stage first = stages.encoder().get(0);
        INDArray next = inputGradientUnwanted
                ? null
                : first.inputGradient(traces.encoder().get(0), delta, params, workspaceMgr);
        return new Pair<>(gradients(), next);
    }

    private Gradient gradients() {
        Gradient gradient = new DefaultGradient();
        put(stages.mean(), gradient);
        for (int number = stages.encoder().size() - 1; number >= 0; number--) {
            put(stages.encoder().get(number), gradient);
        }
        return gradient;
    }

    private void put(Stage stage, Gradient gradient) {
        for (String name : List.of(stage.names().weights(), stage.names().bias())) {
            gradient.setGradientFor(name, gradientViews.get(name));
        }
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
        return stages.weights();
    }

    @Override
    public void close() {
        stages.close();
        pretrainer.close();
    }
}
