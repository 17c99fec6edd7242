package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.preprocessor.BaseInputPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.learning.config.Sgd;

/** The network method in progress, seen from code that the backward pass runs. */
class NetworkCallTest {
    private static final List<String> SEEN = new ArrayList<>();
    private static final List<Boolean> FOR_OUTPUTS_ONLY = new ArrayList<>();

    private final DataSet data = Networks.vectors(8, 20, 3);
    private final MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(0.1))
            .list()
            .layer(Networks.dense(6, Activation.TANH))
            .layer(Networks.softmax(3))
            .inputPreProcessor(1, new Looking())
            .setInputType(InputType.feedForward(20))
            .build());
    private final ComputationGraph graph = network.toComputationGraph();

    /** Changes nothing. */
    private static final class Looking extends BaseInputPreProcessor {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray preProcess(INDArray input, int miniBatchSize, LayerWorkspaceMgr workspaceMgr) {
            FOR_OUTPUTS_ONLY.add(NetworkCall.asksForOutputsOnly());
            return workspaceMgr.dup(ArrayType.ACTIVATIONS, input);
        }

        @Override
        public INDArray backprop(INDArray output, int miniBatchSize, LayerWorkspaceMgr workspaceMgr) {
            SEEN.add((NetworkCall.isStep() ? "step" : "no step") + ", input's gradient "
                    + (NetworkCall.dropsInputGradient() ? "dropped" : "read"));
            return workspaceMgr.dup(ArrayType.ACTIVATION_GRAD, output);
        }

        @Override
        public InputType getOutputType(InputType inputType) {
            return inputType;
        }
    }

    @AfterEach
    void forget() {
        SEEN.clear();
        FOR_OUTPUTS_ONLY.clear();
    }

    private static void assertForOutputsOnly(boolean expected, Runnable call) {
        FOR_OUTPUTS_ONLY.clear();
        call.run();
        assertEquals(List.of(expected), FOR_OUTPUTS_ONLY);
    }

    @Test
    void callsForOutputsAreToldFromCallsForActivationsOfLayers() {
        INDArray features = data.getFeatures();
        assertForOutputsOnly(true, () -> network.output(features));
        assertForOutputsOnly(true, () -> network.score(data));
        assertForOutputsOnly(true, () -> network.evaluate(new SingletonDataSetIterator(data)));
        assertForOutputsOnly(false, () -> network.feedForward(features, false));
        assertForOutputsOnly(false, () -> network.feedForwardToLayer(1, features));
        assertForOutputsOnly(false, () -> network.activateSelectedLayers(0, 1, features.dup()));
        assertForOutputsOnly(true, () -> graph.outputSingle(features));
        assertForOutputsOnly(true, () -> graph.evaluate(new SingletonDataSetIterator(data)));
        assertForOutputsOnly(false, () -> graph.feedForward(features, false));
        graph.getConfiguration().setInferenceWorkspaceMode(WorkspaceMode.NONE);
        List<String> outputs = graph.getConfiguration().getNetworkOutputs();
        assertForOutputsOnly(false, () -> graph.output(outputs, false, new INDArray[] {features}, null));
    }

    @Test
    void fitMakesAStepAndDropsTheGradientOfTheInput() {
        network.fit(data);
        graph.fit(data);
        assertEquals(List.of("step, input's gradient dropped", "step, input's gradient dropped"), SEEN);
    }

    @Test
    void lossAndGradientMakeNoStep() {
        network.setInput(data.getFeatures());
        network.setLabels(data.getLabels());
        network.computeGradientAndScore();
        graph.setInputs(data.getFeatures());
        graph.setLabels(data.getLabels());
        graph.computeGradientAndScore();
        assertEquals(List.of("no step, input's gradient dropped", "no step, input's gradient dropped"), SEEN);
    }

    @Test
    void calculatedGradientsAreReadDownToTheInput() {
        network.calculateGradients(data.getFeatures(), data.getLabels(), null, null);
        assertEquals(List.of("no step, input's gradient read"), SEEN);
    }
}
