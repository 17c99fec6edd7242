package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Passes;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Attention of one sequence to another in a graph, against stock DL4J. */
class AttentionVertexTest {
    private static final int SIZE = 6;
    private static final int QUERIES = 5;
    private static final int KEYS = 8;
    private static final int CLASSES = 3;
    private static final int MINIBATCH = 4;

    private static ComputationGraph graph(boolean projects) {
        AttentionVertex attention = new AttentionVertex.Builder()
                .nInQueries(SIZE)
                .nInKeys(projects ? SIZE + 1 : SIZE)
                .nInValues(projects ? SIZE + 2 : SIZE)
                .nHeads(projects ? 3 : 1)
                .headSize(projects ? 4 : SIZE)
                .nOut(projects ? 7 : SIZE)
                .projectInput(projects)
                .build();
        ComputationGraphConfiguration conf = new NeuralNetConfiguration.Builder()
                .seed(9)
                .updater(new Sgd(0.05))
                .graphBuilder()
                .addInputs("asking", "known")
                .addLayer("queries", lstm(SIZE), "asking")
                .addLayer("keys", lstm(projects ? SIZE + 1 : SIZE), "known")
                .addLayer("values", lstm(projects ? SIZE + 2 : SIZE), "known")
                .addVertex("attention", attention, "queries", "keys", "values")
                .addLayer(
                        "out",
                        new RnnOutputLayer.Builder(LossFunction.MCXENT)
                                .activation(Activation.SOFTMAX)
                                .nOut(CLASSES)
                                .build(),
                        "attention")
                .setOutputs("out")
                .setInputTypes(InputType.recurrent(5), InputType.recurrent(5))
                .build();
        ComputationGraph graph = new ComputationGraph(conf);
        graph.init();
        return graph;
    }

    private static LSTM lstm(int units) {
        return new LSTM.Builder().nOut(units).activation(Activation.TANH).build();
    }

    private static MultiDataSet data(Random random, int queries, int keys, boolean masksQueries, boolean masksKeys) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, MINIBATCH, CLASSES, queries);
        for (int b = 0; b < MINIBATCH; b++) {
            for (int t = 0; t < queries; t++) {
                labels.putScalar(new int[] {b, random.nextInt(CLASSES), t}, 1);
            }
        }
        INDArray ofQueries = masksQueries ? SelfAttentionTwinTest.mask(random, MINIBATCH, queries) : null;
        INDArray ofKeys = masksKeys ? SelfAttentionTwinTest.mask(random, MINIBATCH, keys) : null;
        if (ofQueries != null) {
            ofQueries.putScalar(0, 0, 1);
        }
        return new MultiDataSet(
                new INDArray[] {gaussian(random, 1, MINIBATCH, 5, queries), gaussian(random, 1, MINIBATCH, 5, keys)},
                new INDArray[] {labels},
                masksQueries || masksKeys ? new INDArray[] {ofQueries, ofKeys} : null,
                masksQueries ? new INDArray[] {ofQueries} : null);
    }

    private static void agree(ComputationGraph stock, ComputationGraph ours, MultiDataSet data, double bound) {
        stock.fit(data);
        ours.fit(data);
        assertEquals(stock.score(), ours.score(), bound);
        Agreement.assertWithin("parameters", stock.params(), ours.params(), bound);
        Agreement.assertWithin("gradients", stock.getFlattenedGradients(), ours.getFlattenedGradients(), 10 * bound);
    }

    /** Stock DL4J's vertex keeps the masks of a batch for the next one without masks. */
    @Test
    void itTrainsAsStockDl4jWithAndWithoutMasks() {
        for (boolean projects : new boolean[] {true, false}) {
            for (Precision precision : new Precision[] {Precision.FLOAT, Types.halfPrecision()}) {
                Random random = new Random(3);
                ComputationGraph stock = graph(projects);
                ComputationGraph ours = graph(projects);
                double bound = precision == Precision.FLOAT ? 1e-5 : 5e-3;
                try (MixedPrecision mixed = MixedPrecision.enable(
                        ours,
                        AmpConfig.builder()
                                .engine("onednn")
                                .precision(precision)
                                .build())) {
                    assertEquals("onednn", mixed.plan().row("attention").engine(), mixed.plan()::toString);
                    assertEquals(precision, mixed.plan().row("attention").precision(), mixed.plan()::toString);
                    for (int round = 0; round < 2; round++) {
                        agree(stock, ours, data(random, QUERIES, KEYS, false, false), bound);
                        agree(stock, ours, data(random, QUERIES, KEYS, true, true), bound);
                        agree(stock, ours, data(random, QUERIES, KEYS, true, false), bound);
                        agree(stock, ours, data(random, QUERIES, KEYS, false, true), bound);
                    }
                    agree(stock, ours, data(random, QUERIES + 2, KEYS - 1, true, true), bound);
                }
            }
        }
    }

    @Test
    void inInferenceModeItGivesStockDl4jsOutput() {
        for (boolean projects : new boolean[] {true, false}) {
            for (Precision precision : new Precision[] {Precision.FLOAT, Types.halfPrecision()}) {
                ComputationGraph graph = graph(projects);
                MultiDataSet data = data(new Random(3), QUERIES, KEYS, true, true);
                INDArray expected = graph.output(false, data.getFeatures(), data.getFeaturesMaskArrays())[0];
                INDArray unmasked = graph.output(data.getFeatures())[0];
                try (InferenceMode mode = MixedPrecision.inference(
                        graph,
                        AmpConfig.builder()
                                .engine("onednn")
                                .precision(precision)
                                .build())) {
                    double bound = precision == Precision.FLOAT ? 1e-5 : 1e-2;
                    for (int i = 0; i < 2; i++) {
                        Agreement.assertWithin(
                                "masked",
                                expected,
                                graph.output(false, data.getFeatures(), data.getFeaturesMaskArrays())[0],
                                bound);
                        Agreement.assertWithin("unmasked", unmasked, graph.output(data.getFeatures())[0], bound);
                    }
                    assertTrue(Passes.of(() -> graph.output(data.getFeatures())).stream()
                            .anyMatch(pass -> pass.contains("vertex \"attention\"")));
                }
            }
        }
    }

    @Test
    void inAPauseAndAfterItDl4jsVertexAndTheTwinGoOnFromTheSameParameters() {
        Random random = new Random(3);
        ComputationGraph stock = graph(true);
        ComputationGraph ours = graph(true);
        MixedPrecision mixed = MixedPrecision.enable(
                ours,
                AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build());
        agree(stock, ours, data(random, QUERIES, KEYS, true, true), 1e-5);
        mixed.close();
        agree(stock, ours, data(random, QUERIES, KEYS, true, true), 1e-5);
    }

    @Test
    void whatDl4jRefusesIsRefusedByDl4jsVertex() {
        ComputationGraph ours = graph(true);
        try (MixedPrecision mixed = MixedPrecision.enable(
                ours,
                AmpConfig.builder()
                        .engine("onednn")
                        .precision(Types.halfPrecision())
                        .build())) {
            MultiDataSet data = data(new Random(3), QUERIES, KEYS, false, false);
            INDArray fewer = data.getFeatures(1).get(NDArrayIndex.interval(0, MINIBATCH - 1));
            assertThrows(RuntimeException.class, () -> ours.output(data.getFeatures(0), fewer));
            assertEquals(Types.halfPrecision(), mixed.plan().precision());
        }
    }

    @Test
    void featuresWithNaNGiveStockDl4jsOutput() {
        ComputationGraph graph = graph(true);
        MultiDataSet data = data(new Random(3), QUERIES, KEYS, false, false);
        data.getFeatures(1).putScalar(3, Float.NaN);
        INDArray expected = graph.output(data.getFeatures())[0];
        try (MixedPrecision mixed = MixedPrecision.enable(
                graph,
                AmpConfig.builder()
                        .engine("onednn")
                        .precision(Types.halfPrecision())
                        .build())) {
            INDArray actual = graph.output(data.getFeatures())[0];
            assertEquals(
                    Double.isNaN(expected.getDouble(0)), Double.isNaN(actual.getDouble(0)), mixed.plan()::toString);
            for (long i = 0; i < expected.length(); i++) {
                assertEquals(expected.getDouble(i), actual.getDouble(i), 2e-2);
            }
        }
    }
}
