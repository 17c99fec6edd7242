package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.learning.config.Adam;

/** Graphs of several inputs and outputs, and of shapes that only graphs have. */
class GraphsTest {
    private static final DataSet VECTORS = Networks.vectors(32, 10, 3);

    private static ComputationGraph twoInputsAndTwoLosses() {
        return Networks.init(Networks.builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs("x", "y")
                .setInputTypes(InputType.feedForward(10), InputType.feedForward(10))
                .addLayer("a", Networks.dense(8, Activation.TANH), "x")
                .addLayer("b", Networks.dense(8, Activation.TANH), "y")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "b")
                .addVertex("both", new MergeVertex(), "a", "sum")
                .addLayer("c", Networks.dense(8, Activation.TANH), "both")
                .addLayer("classes", Networks.softmax(3), "c")
                .addLayer("values", Networks.regression(2), "sum")
                .setOutputs("classes", "values")
                .build());
    }

    private static MultiDataSet twoByTwo() {
        INDArray x = VECTORS.getFeatures();
        INDArray y = x.mul(-0.5).addi(0.3);
        return new MultiDataSet(
                new INDArray[] {x, y},
                new INDArray[] {VECTORS.getLabels(), x.getColumns(0, 1).add(y.getColumns(2, 3))});
    }

    @Test
    void lossesOfSeveralOutputsAddUpAndSharedActivationsGetAllGradients() {
        Comparison.check(
                twoInputsAndTwoLosses(), twoByTwo(), Gradients.config(Precision.HALF), Comparison.Tolerance.HALF);
    }

    @Test
    void anFp32LayerMayStandBeforeTheOutput() {
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .keepFull("c")
                .build();
        Comparison.check(twoInputsAndTwoLosses(), twoByTwo(), config, Comparison.Tolerance.HALF);
    }

    private static ComputationGraphConfiguration withoutLoss() {
        return Networks.builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs("x")
                .setInputTypes(InputType.feedForward(10))
                .addLayer("a", Networks.dense(8, Activation.TANH), "x")
                .addLayer("b", Networks.dense(4, Activation.TANH), "a")
                .setOutputs("b")
                .build();
    }

    private static Gradient gradientsOfExternalErrors(ComputationGraph graph, INDArray errors) {
        graph.feedForward(new INDArray[] {VECTORS.getFeatures()}, true, false);
        return graph.backpropGradient(errors);
    }

    private static void update(ComputationGraph graph, Gradient gradient) {
        graph.getUpdater().update(gradient, 0, 0, 32, LayerWorkspaceMgr.noWorkspaces());
        graph.params().subi(gradient.gradient());
    }

    @Test
    void errorsMayComeFromOutside() {
        ComputationGraph fp32 = Networks.init(withoutLoss());
        ComputationGraph mixed = fp32.clone();
        MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        INDArray errors = VECTORS.getFeatures().getColumns(0, 1, 2, 3).mul(0.1);
        Gradient expected = gradientsOfExternalErrors(fp32, errors.dup());
        Gradient actual = gradientsOfExternalErrors(mixed, errors.dup());
        Comparison.assertGradients(
                expected.gradientForVariable(), actual.gradientForVariable(), Comparison.Tolerance.HALF);
        update(fp32, expected);
        update(mixed, actual);
        assertEquals(0, amp.stepsTaken(), "no step of DL4J's optimizer");
        Comparison.assertClose(fp32.params(), mixed.params(), 0.01, "parameters");
    }

    @Test
    void endlessOverflowNamesTheParameterOfAVertex() {
        ComputationGraph graph = Networks.init(Networks.builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs("x")
                .setInputTypes(InputType.recurrent(5))
                .addLayer("a", new LSTM.Builder().nOut(8).build(), "x")
                .addVertex("attention", Networks.attention(8, 6, 1), "a", "a", "a")
                .addLayer("out", Networks.rnnSoftmax(3), "attention")
                .setOutputs("out")
                .build());
        MixedPrecision.enable(
                graph,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .maxConsecutiveSkips(1)
                        .build());
        graph.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                model.gradient().getGradientFor("attention_Wq").assign(Float.NaN);
            }
        });
        AmpException e = assertThrows(AmpException.class, () -> graph.fit(Networks.sequences(4, 5, 3, 6)));
        assertTrue(e.getMessage().contains("parameter \"Wq\" of vertex \"attention\""), e.getMessage());
    }
}
