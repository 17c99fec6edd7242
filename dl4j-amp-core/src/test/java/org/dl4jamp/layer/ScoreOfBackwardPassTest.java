package org.dl4jamp.layer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.twin.Twin;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The passes in which an output layer may return the score that it evaluated in the backward pass. */
class ScoreOfBackwardPassTest {
    private static final double KEPT = -1;

    private static final class Scoring extends org.deeplearning4j.nn.layers.OutputLayer implements Twin.ScoringOutput {
        private static final long serialVersionUID = 1L;

        Scoring(NeuralNetConfiguration conf) {
            super(conf, DataType.FLOAT);
        }

        @Override
        public double scoreOfBackwardPass(double fullNetworkRegScore) {
            return KEPT;
        }
    }

    private final WorkspaceConfiguration workspace =
            WorkspaceConfiguration.builder().initialSize(1 << 20).build();
    private final LayerWorkspaceMgr workspaces = LayerWorkspaceMgr.builder()
            .with(ArrayType.INPUT, "ACTIVATIONS", workspace)
            .with(ArrayType.ACTIVATIONS, "ACTIVATIONS", workspace)
            .with(ArrayType.ACTIVATION_GRAD, "WORKING", workspace)
            .with(ArrayType.FF_WORKING_MEM, "WORKING", workspace)
            .with(ArrayType.BP_WORKING_MEM, "WORKING", workspace)
            .build();
    private final INDArray mask = Nd4j.ones(DataType.FLOAT, 2, 1);
    private LossScalingLayer layer;

    @BeforeEach
    void makeLayer() {
        NeuralNetConfiguration conf = new NeuralNetConfiguration.Builder()
                .layer(new org.deeplearning4j.nn.conf.layers.OutputLayer.Builder(LossFunction.MSE)
                        .nIn(3)
                        .nOut(2)
                        .build())
                .build();
        INDArray params = Networks.uniform(1, 1, 8);
        org.deeplearning4j.nn.api.Layer master =
                conf.getLayer().instantiate(conf, null, 0, params, false, DataType.FLOAT);
        master.setBackpropGradientsViewArray(Nd4j.create(DataType.FLOAT, 1, 8));
        Scoring scoring = new Scoring(conf);
        scoring.setParamsViewArray(params);
        scoring.setParamTable(conf.getLayer().initializer().init(conf, params, false));
        layer = new LossScalingLayer(new TwinSetup(
                "layer",
                master,
                new Twin(scoring, DataType.FLOAT, false, Twin.Retention.INPUT, null, Twin.Weights.MASTER),
                DataType.FLOAT,
                DataType.FLOAT,
                Chain.CONTEXT,
                GradientScale.none(),
                SingleLayer.NO_STEP));
    }

    private void backward(LayerWorkspaceMgr manager) {
        layer.setInput(manager.leverageTo(ArrayType.INPUT, Networks.uniform(2, 2, 3)), manager);
        layer.setLabels(Networks.uniform(3, 2, 2));
        try (MemoryWorkspace working = manager.notifyScopeEntered(ArrayType.BP_WORKING_MEM)) {
            layer.backpropGradient(null, manager);
        }
    }

    private double score(boolean training, LayerWorkspaceMgr manager) {
        try (MemoryWorkspace working = manager.notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
            return layer.computeScore(0, training, manager);
        }
    }

    private void inTheScopeOfABackwardPass(Runnable test) {
        try (MemoryWorkspace activations = workspaces.notifyScopeEntered(ArrayType.ACTIVATIONS)) {
            layer.setMaskArray(mask);
            backward(workspaces);
            test.run();
        }
    }

    @Test
    void isUsedInTheWorkspaceScopeOfTheBackwardPass() {
        inTheScopeOfABackwardPass(() -> assertEquals(KEPT, score(true, workspaces)));
    }

    @Test
    void isntTheScoreInInference() {
        inTheScopeOfABackwardPass(() -> assertNotEquals(KEPT, score(false, workspaces)));
    }

    @Test
    void isForgottenWithTheInput() {
        inTheScopeOfABackwardPass(() -> {
            layer.setInput(layer.input(), workspaces);
            assertNotEquals(KEPT, score(true, workspaces));
        });
    }

    @Test
    void isForgottenWithTheLabels() {
        inTheScopeOfABackwardPass(() -> {
            layer.setLabels(Nd4j.zeros(DataType.FLOAT, 2, 2));
            assertNotEquals(KEPT, score(true, workspaces));
        });
    }

    @Test
    void isForgottenWithTheMask() {
        inTheScopeOfABackwardPass(() -> {
            layer.setMaskArray(mask);
            assertEquals(KEPT, score(true, workspaces));
            layer.setMaskArray(null);
            assertNotEquals(KEPT, score(true, workspaces));
        });
    }

    @Test
    void isntUsedWhereParametersMayHaveChanged() {
        backward(LayerWorkspaceMgr.noWorkspaces());
        assertNotEquals(KEPT, score(true, LayerWorkspaceMgr.noWorkspaces()));
    }
}
