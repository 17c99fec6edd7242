package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.AttentionFormula;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Attention of learned queries against the formula, and its gradients against differences of the formula's results, in
 * double precision. DL4J's own layer fails.
 */
class LearnedSelfAttentionTwinTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final int SIZE = 6;
    private static final int STEPS = 9;
    private static final int QUERIES = 3;

    private static LearnedSelfAttentionLayer layer(boolean projects) {
        return Networks.learnedSelfAttention(SIZE, projects ? 8 : SIZE, projects ? 2 : 1, QUERIES, projects);
    }

    @Test
    void itGivesTheFormulasNumbersAndTwiceItsGradientsAsAllOfDl4jsSameDiffLayers() {
        for (boolean projects : new boolean[] {true, false}) {
            Random random = new Random(7);
            LearnedSelfAttentionLayer conf = layer(projects);
            INDArray params = gaussian(random, 0.4, conf.initializer().numParams(conf));
            INDArray x = gaussian(random, 1, 2, SIZE, STEPS);
            INDArray mask =
                    Nd4j.createFromArray(new float[][] {{1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 0, 0, 1, 0, 0, 0, 0}});
            INDArray epsilon = gaussian(random, 1, 2, conf.getNOut(), QUERIES);
            AttentionFormula formula = new AttentionFormula(conf, mask);
            INDArray gradients = AttentionFormula.differences(params, at -> formula.output(at, x), epsilon)
                    .muli(ExternalErrors.factor());
            INDArray inputGradient = AttentionFormula.differences(x, at -> formula.output(params, at), epsilon)
                    .muli(ExternalErrors.factor());
            for (DataType type : Types.here()) {
                double bound = 2 * Agreement.rounding(type) + 1e-5;
                try (EngineSession session = new OneDnnEngine().session(1, true)) {
                    TwinLayer twin = Layers.twin(session, conf, params, type);
                    assertInstanceOf(LearnedSelfAttentionTwin.class, twin.twin().compute());
                    twin.setMaskArray(mask);
                    SingleLayer.Result result = SingleLayer.run(twin, x.castTo(type), epsilon.castTo(type));
                    Agreement.assertWithin(type + " output", formula.output(params, x), result.output(), bound);
                    Agreement.assertWithin(
                            type + " parameters",
                            gradients.reshape(1, gradients.length()),
                            twin.getGradientsViewArray(),
                            bound);
                    Agreement.assertWithin(type + " input", inputGradient, result.inputGradient(), bound);
                }
            }
        }
    }

    @Test
    void aWrongShapeIsRefusedWithoutDl4jsLayer() {
        LearnedSelfAttentionLayer conf = layer(true);
        INDArray params = gaussian(new Random(7), 0.4, conf.initializer().numParams(conf));
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            assertThrows(DL4JInvalidInputException.class, () -> twin.activate(Nd4j.ones(2, SIZE + 1, 3), false, NONE));
            assertThrows(DL4JInvalidInputException.class, () -> twin.activate(Nd4j.ones(2, SIZE), false, NONE));
        }
    }
}
