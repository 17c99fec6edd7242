package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
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
        return new LearnedSelfAttentionLayer.Builder()
                .nIn(SIZE)
                .nOut(projects ? 5 : SIZE)
                .nHeads(projects ? 2 : 1)
                .headSize(projects ? 4 : SIZE)
                .projectInput(projects)
                .nQueries(QUERIES)
                .build();
    }

    /** Returns the sum of the output times a matrix: {@code [minibatch, nOut, queries]}. */
    private static double formula(boolean projects, double[] p, INDArray x, INDArray mask, INDArray factors) {
        int heads = projects ? 2 : 1;
        int d = projects ? 4 : SIZE;
        int outputs = projects ? 5 : SIZE;
        int weights = SIZE * QUERIES;
        int ofRole = heads * d * SIZE;
        double result = 0;
        for (int b = 0; b < x.size(0); b++) {
            for (int q = 0; q < QUERIES; q++) {
                double[] attended = new double[heads * d];
                for (int h = 0; h < heads; h++) {
                    double[] s = new double[STEPS];
                    double sum = 0;
                    for (int t = 0; t < STEPS; t++) {
                        for (int i = h * d; i < h * d + d; i++) {
                            double query = 0;
                            double key = 0;
                            for (int j = 0; j < SIZE; j++) {
                                double asked = p[j * QUERIES + q];
                                double given = x.getDouble(b, j, t);
                                int at = weights + i * SIZE + j;
                                query += projects ? p[at] * asked : i == j ? asked : 0;
                                key += projects ? p[ofRole + at] * given : i == j ? given : 0;
                            }
                            s[t] += query * key / Math.sqrt(d);
                        }
                        s[t] = Math.exp(s[t] + (mask.getDouble(b, t) - 1) * 1e9);
                        sum += s[t];
                    }
                    for (int t = 0; t < STEPS; t++) {
                        for (int i = h * d; i < h * d + d; i++) {
                            for (int j = 0; j < SIZE; j++) {
                                double weight = projects ? p[weights + 2 * ofRole + i * SIZE + j] : i == j ? 1 : 0;
                                attended[i] += s[t] / sum * weight * x.getDouble(b, j, t);
                            }
                        }
                    }
                }
                for (int o = 0; o < outputs; o++) {
                    for (int i = 0; i < heads * d; i++) {
                        double weight = projects ? p[weights + 3 * ofRole + i * outputs + o] : i == o ? 1 : 0;
                        result += attended[i] * weight * factors.getDouble(b, o, q);
                    }
                }
            }
        }
        return result;
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
            double[] p = params.toDoubleVector();
            INDArray gradients = Nd4j.create(DataType.DOUBLE, params.shape());
            for (int i = 0; i < p.length; i++) {
                double[] more = p.clone();
                double[] less = p.clone();
                more[i] += 1e-5;
                less[i] -= 1e-5;
                double slope =
                        (formula(projects, more, x, mask, epsilon) - formula(projects, less, x, mask, epsilon)) / 2e-5;
                gradients.putScalar(i, ExternalErrors.factor() * slope);
            }
            for (DataType type : Types.here()) {
                double bound = 3 * Agreement.rounding(type) + 1e-5;
                try (EngineSession session = new OneDnnEngine().session(1, true)) {
                    TwinLayer twin = Layers.twin(session, conf, params, type);
                    assertInstanceOf(LearnedSelfAttentionTwin.class, twin.twin().compute());
                    twin.setMaskArray(mask);
                    SingleLayer.Result result = SingleLayer.run(twin, x.castTo(type), epsilon.castTo(type));
                    double sum = result.output()
                            .castTo(DataType.DOUBLE)
                            .mul(epsilon.castTo(DataType.DOUBLE))
                            .sumNumber()
                            .doubleValue();
                    double expected = formula(projects, p, x, mask, epsilon);
                    assertEquals(expected, sum, bound * 20, "output");
                    Agreement.assertWithin(
                            type + " parameters", gradients.reshape(1, p.length), twin.getGradientsViewArray(), bound);
                    INDArray next = result.inputGradient();
                    INDArray slopes = Nd4j.create(DataType.DOUBLE, x.shape());
                    for (int i = 0; i < x.length(); i++) {
                        INDArray more = x.castTo(DataType.DOUBLE);
                        INDArray less = x.castTo(DataType.DOUBLE);
                        more.putScalar(i, more.getDouble(i) + 1e-5);
                        less.putScalar(i, less.getDouble(i) - 1e-5);
                        double slope =
                                (formula(projects, p, more, mask, epsilon) - formula(projects, p, less, mask, epsilon))
                                        / 2e-5;
                        slopes.putScalar(i, ExternalErrors.factor() * slope);
                    }
                    Agreement.assertWithin(type + " input", slopes, next, bound);
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
