package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.evaluation.regression.RegressionEvaluation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.ViewIterator;
import org.nd4j.linalg.dataset.adapter.SingletonMultiDataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;

/** The getters of DL4J's networks return in mixed precision what they return in FP32. */
class TransparencyTest {
    private static final double CLOSE = 0.01;

    private final DataSet vectors = Networks.vectors(32, 20, 3);
    private final MultiLayerNetwork fp32 = Networks.init(Networks.mlp());
    private final MultiLayerNetwork mixed = fp32.clone();
    private final ComputationGraph fp32Graph = Networks.init(Networks.residual());
    private final ComputationGraph mixedGraph = fp32Graph.clone();
    private final MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
    private final MixedPrecision graphAmp = MixedPrecision.enable(mixedGraph, Gradients.config(Precision.HALF));

    @AfterEach
    void close() {
        amp.close();
        graphAmp.close();
    }

    private static DataSetIterator batches(DataSet data) {
        return new ViewIterator(data, 8);
    }

    private static void assertClose(INDArray expected, INDArray actual) {
        Comparison.assertClose(expected, actual, CLOSE, "result");
    }

    @Test
    void fitTakesBatchesIteratorsAndArrays() {
        for (MultiLayerNetwork network : new MultiLayerNetwork[] {fp32, mixed}) {
            network.fit(vectors);
            network.fit(batches(vectors));
            network.fit(batches(vectors), 2);
            network.fit(vectors.getFeatures(), vectors.getLabels());
            network.fit(vectors.toMultiDataSet());
        }
        assertEquals(fp32.getIterationCount(), mixed.getIterationCount());
        assertEquals(fp32.getEpochCount(), mixed.getEpochCount());
        assertEquals(15, amp.stepsTaken());
        assertEquals(fp32.score(vectors), mixed.score(vectors), 0.05 * fp32.score(vectors));
    }

    @Test
    void fitOfAGraphTakesBatchesIteratorsAndArrays() {
        DataSet images = Networks.images(16, 3, 8, 3);
        for (ComputationGraph graph : new ComputationGraph[] {fp32Graph, mixedGraph}) {
            graph.fit(images);
            graph.fit(batches(images), 2);
            graph.fit(images.toMultiDataSet());
            graph.fit(new INDArray[] {images.getFeatures()}, new INDArray[] {images.getLabels()});
        }
        assertEquals(fp32Graph.getIterationCount(), mixedGraph.getIterationCount());
        assertEquals(7, graphAmp.stepsTaken());
        assertEquals(fp32Graph.score(images), mixedGraph.score(images), 0.05 * fp32Graph.score(images));
    }

    @Test
    void outputIsFloatAndCloseInTrainingAndInference() {
        for (boolean training : new boolean[] {true, false}) {
            assertClose(fp32.output(vectors.getFeatures(), training), mixed.output(vectors.getFeatures(), training));
        }
        assertClose(fp32.output(batches(vectors)), mixed.output(batches(vectors)));
        INDArray images = Networks.images(8, 3, 8, 3).getFeatures();
        assertClose(fp32Graph.outputSingle(images), mixedGraph.outputSingle(images));
        assertClose(fp32Graph.output(true, images)[0], mixedGraph.output(true, images)[0]);
    }

    @Test
    void feedForwardReturnsEachActivationInTheTypeOfThePlan() {
        List<INDArray> expected = fp32.feedForward(vectors.getFeatures());
        List<INDArray> actual = mixed.feedForward(vectors.getFeatures());
        assertEquals(expected.size(), actual.size());
        assertEquals(DataType.HALF, actual.get(1).dataType());
        assertEquals(DataType.FLOAT, actual.get(3).dataType());
        for (int i = 0; i < expected.size(); i++) {
            assertClose(expected.get(i), actual.get(i).castTo(DataType.FLOAT));
        }
        List<INDArray> first = mixed.feedForwardToLayer(1, vectors.getFeatures());
        assertEquals(3, first.size());
        assertClose(expected.get(2), first.get(2).castTo(DataType.FLOAT));
        assertClose(
                fp32.activateSelectedLayers(0, 1, vectors.getFeatures()),
                mixed.activateSelectedLayers(0, 1, vectors.getFeatures()).castTo(DataType.FLOAT));
    }

    @Test
    void feedForwardOfAGraphReturnsEachActivationByName() {
        INDArray images = Networks.images(8, 3, 8, 3).getFeatures();
        Map<String, INDArray> expected = fp32Graph.feedForward(images, false);
        Map<String, INDArray> actual = mixedGraph.feedForward(images, false);
        assertEquals(expected.keySet(), actual.keySet());
        assertEquals(DataType.HALF, actual.get("add").dataType());
        // Not what activation layers take: in FP32 they work in place, and DL4J shows their output there too.
        for (String name : List.of("stem", "stem_relu", "a", "relu", "left", "right", "merge", "pool", "out")) {
            Comparison.assertClose(expected.get(name), actual.get(name).castTo(DataType.FLOAT), CLOSE, name);
        }
    }

    @Test
    void scoresAreThoseOfFp32() {
        assertEquals(fp32.score(vectors), mixed.score(vectors), CLOSE);
        assertEquals(fp32.score(vectors, true), mixed.score(vectors, true), CLOSE);
        assertClose(fp32.scoreExamples(vectors, true), mixed.scoreExamples(vectors, true));
        DataSet images = Networks.images(8, 3, 8, 3);
        assertEquals(fp32Graph.score(images), mixedGraph.score(images), CLOSE);
        assertClose(fp32Graph.scoreExamples(images, false), mixedGraph.scoreExamples(images, false));
    }

    @Test
    void evaluationsAndPredictionsAreThoseOfFp32() {
        for (MultiLayerNetwork network : new MultiLayerNetwork[] {fp32, mixed}) {
            for (int i = 0; i < 30; i++) {
                network.fit(vectors);
            }
        }
        assertEquals(
                fp32.evaluate(batches(vectors)).accuracy(),
                mixed.evaluate(batches(vectors)).accuracy());
        assertArrayEquals(fp32.predict(vectors.getFeatures()), mixed.predict(vectors.getFeatures()));
        RegressionEvaluation expected = fp32.evaluateRegression(batches(vectors));
        RegressionEvaluation actual = mixed.evaluateRegression(batches(vectors));
        assertEquals(expected.averageMeanSquaredError(), actual.averageMeanSquaredError(), 1e-3);
        assertEquals(fp32.f1Score(vectors), mixed.f1Score(vectors), 1e-6);
    }

    @Test
    void calculatedGradientsAreTrueGradients() {
        var expected = fp32.calculateGradients(vectors.getFeatures(), vectors.getLabels(), null, null);
        var actual = mixed.calculateGradients(vectors.getFeatures(), vectors.getLabels(), null, null);
        Comparison.assertGradients(
                expected.getFirst().gradientForVariable(),
                actual.getFirst().gradientForVariable(),
                Comparison.Tolerance.COARSE);
    }

    @Test
    void theGradientOfTheInputIsTheTrueOne() {
        INDArray expected = fp32.calculateGradients(vectors.getFeatures(), vectors.getLabels(), null, null)
                .getSecond();
        INDArray actual = mixed.calculateGradients(vectors.getFeatures(), vectors.getLabels(), null, null)
                .getSecond();
        assertTrue(Gradients.cosine(expected, actual) > 0.99);
        assertEquals(
                1, actual.norm2Number().doubleValue() / expected.norm2Number().doubleValue(), 0.05);
    }

    @Test
    void batchesMayVaryInSize() {
        for (int size : new int[] {32, 7, 1, 20}) {
            DataSet batch = vectors.getRange(0, size).copy();
            assertClose(fp32.output(batch.getFeatures()), mixed.output(batch.getFeatures()));
            mixed.fit(batch);
            fp32.fit(batch);
        }
        assertEquals(4, amp.stepsTaken());
        assertEquals(fp32.score(vectors), mixed.score(vectors), 0.02);
    }

    @Test
    void wrappersAndActivationsBetweenHalfLayersAreHalf() {
        mixed.setInput(vectors.getFeatures());
        mixed.feedForward(true, false);
        // On CUDA features, which stay in memory anyway, are rounded by each pass instead of kept twice.
        DataType features = Nd4j.getEnvironment().isCPU() ? DataType.HALF : DataType.FLOAT;
        assertEquals(features, mixed.getLayer(0).input().dataType());
        assertEquals(DataType.HALF, mixed.getLayer(1).input().dataType());
        DataSet images = Networks.images(8, 3, 8, 3);
        mixedGraph.feedForward(new INDArray[] {images.getFeatures()}, true, false);
        for (String name : new String[] {"stem_bn", "stem_relu", "a", "a_bn", "relu", "left", "right"}) {
            assertEquals(DataType.HALF, mixedGraph.getLayer(name).input().dataType(), name);
        }
    }

    @Test
    void severalBatchesInOneMultiDataSetIterator() {
        MultiDataSet images = (MultiDataSet) Networks.images(8, 3, 8, 3).toMultiDataSet();
        var iterator = new SingletonMultiDataSetIterator(images);
        fp32Graph.fit(iterator, 3);
        mixedGraph.fit(iterator, 3);
        assertEquals(3, graphAmp.stepsTaken());
        assertEquals(fp32Graph.score(images), mixedGraph.score(images), 0.02);
        assertEquals(
                fp32Graph.evaluate(iterator).accuracy(),
                mixedGraph.evaluate(iterator).accuracy(),
                0.13);
    }

    @Test
    void parametersSetFromOutsideAreSeenByTheNextForwardPass() {
        INDArray other = fp32.params().mul(-0.7);
        fp32.setParams(other);
        mixed.setParams(other);
        assertClose(fp32.output(vectors.getFeatures()), mixed.output(vectors.getFeatures()));
        INDArray weights = fp32.getParam("1_W").mul(2);
        fp32.setParam("1_W", weights);
        mixed.setParam("1_W", weights);
        assertClose(fp32.output(vectors.getFeatures()), mixed.output(vectors.getFeatures()));
        fp32.getLayer(0).getParam("W").muli(0.5);
        mixed.getLayer(0).getParam("W").muli(0.5);
        assertClose(fp32.output(vectors.getFeatures()), mixed.output(vectors.getFeatures()));
        assertTrue(amp.plan().anyHalf());
    }
}
