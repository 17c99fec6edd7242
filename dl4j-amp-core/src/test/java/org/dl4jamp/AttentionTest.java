package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.learning.config.Adam;

class AttentionTest {
    private static final int MINIBATCH = 8;
    private static final int QUERIES = 5;
    private static final int KEYS = 9;

    private static AttentionVertex crossAttention(int heads) {
        return new AttentionVertex.Builder()
                .nInQueries(8)
                .nInKeys(7)
                .nInValues(10)
                .nOut(6)
                .nHeads(heads)
                .headSize(4)
                .projectInput(true)
                .build();
    }

    private static AttentionVertex plain(int size) {
        return new AttentionVertex.Builder()
                .nInQueries(size)
                .nInKeys(size)
                .nInValues(size)
                .nOut(size)
                .projectInput(false)
                .build();
    }

    private static LSTM lstm(int out) {
        return new LSTM.Builder().nOut(out).build();
    }

    /** Queries, keys and values of three layers: two sequences of different lengths. */
    private static GraphBuilder graph(int queries, int keys, int values, AttentionVertex attention) {
        return Networks.builder(new Adam(0.03))
                .graphBuilder()
                .addInputs("x", "y")
                .setInputTypes(InputType.recurrent(5), InputType.recurrent(3))
                .addLayer("queries", lstm(queries), "x")
                .addLayer("keys", lstm(keys), "y")
                .addLayer("values", lstm(values), "y")
                .addVertex("attention", attention, "queries", "keys", "values")
                .setOutputs("out");
    }

    private static GraphBuilder toOutput(int queries, int keys, int values, AttentionVertex attention) {
        return graph(queries, keys, values, attention).addLayer("out", Networks.rnnSoftmax(3), "attention");
    }

    /** The output of attention goes to a vertex that takes FP32 only. */
    private static GraphBuilder beforeAVertexInFloat() {
        return graph(8, 7, 10, crossAttention(2))
                .addVertex("unit", new L2NormalizeVertex(), "attention")
                .addLayer("out", Networks.rnnSoftmax(3), "unit");
    }

    private static GraphBuilder ofNetworkInputs() {
        return Networks.builder(new Adam(1e-2))
                .graphBuilder()
                .addInputs("x", "y")
                .setInputTypes(InputType.recurrent(5), InputType.recurrent(3))
                .addVertex(
                        "attention",
                        new AttentionVertex.Builder()
                                .nInQueries(5)
                                .nInKeys(3)
                                .nInValues(3)
                                .nOut(6)
                                .nHeads(2)
                                .projectInput(true)
                                .build(),
                        "x",
                        "y",
                        "y")
                .addLayer("out", Networks.rnnSoftmax(3), "attention")
                .setOutputs("out");
    }

    private static ComputationGraphConfiguration crossAttending() {
        return toOutput(8, 7, 10, crossAttention(2)).build();
    }

    private static MultiDataSet data(boolean masked) {
        DataSet asking = Networks.maskedSequences(MINIBATCH, 5, 3, QUERIES);
        DataSet asked = Networks.maskedSequences(MINIBATCH, 3, 3, KEYS);
        INDArray[] features = {asking.getFeatures(), asked.getFeatures()};
        INDArray[] labels = {asking.getLabels()};
        return masked
                ? new MultiDataSet(
                        features,
                        labels,
                        new INDArray[] {asking.getFeaturesMaskArray(), asked.getFeaturesMaskArray()},
                        new INDArray[] {asking.getLabelsMaskArray()})
                : new MultiDataSet(features, labels);
    }

    static Stream<Arguments> graphs() {
        return Stream.of(true, false)
                .flatMap(masked -> Stream.of(
                        Arguments.of("one head", toOutput(8, 7, 10, crossAttention(1)), masked),
                        Arguments.of("three heads", toOutput(8, 7, 10, crossAttention(3)), masked),
                        Arguments.of("no projection", toOutput(6, 6, 6, plain(6)), masked),
                        Arguments.of("before FP32", beforeAVertexInFloat(), masked),
                        Arguments.of("of inputs", ofNetworkInputs(), masked)));
    }

    @ParameterizedTest(name = "{0}, masked {2}")
    @MethodSource("graphs")
    void aVertexInHalfAgreesWithDl4js(String what, GraphBuilder graph, boolean masked) {
        Comparison.check(
                Networks.init(graph.build()),
                data(masked),
                Gradients.config(Precision.HALF),
                Comparison.Tolerance.HALF);
    }

    @Tag("long")
    @ParameterizedTest(name = "{0}, masked {2}")
    @MethodSource("graphs")
    void aVertexInBfloat16AgreesWithDl4js(String what, GraphBuilder graph, boolean masked) {
        Comparison.assumeComputed(Precision.BFLOAT16);
        Comparison.check(
                Networks.init(graph.build()),
                data(masked),
                Gradients.config(Precision.BFLOAT16),
                Comparison.Tolerance.COARSE);
    }

    @ParameterizedTest
    @EnumSource(
            value = Precision.class,
            names = {"HALF", "BFLOAT16"})
    void thePlanHasAVertexInHalfPrecision(Precision precision) {
        Comparison.assumeComputed(precision);
        ComputationGraph graph = Networks.init(crossAttending());
        try (MixedPrecision amp = MixedPrecision.enable(graph, Gradients.config(precision))) {
            assertEquals(
                    new PrecisionPlan.Row(
                            "attention",
                            "AttentionVertex",
                            false,
                            LayerKind.LOWER,
                            precision,
                            precision,
                            precision,
                            "nd4j",
                            "sums of products"),
                    amp.plan().row("attention"));
            INDArray[] features = data(false).getFeatures();
            assertEquals(
                    precision.dataType().orElseThrow(),
                    graph.feedForward(features, false).get("attention").dataType());
            assertInstanceOf(SameDiffGraphVertex.class, graph.getVertex("attention"));
        }
    }

    @Test
    void aRuleKeepsAVertexInFp32() {
        ComputationGraph graph = Networks.init(crossAttending());
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .keepFull("attention")
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(graph, config)) {
            PrecisionPlan.Row row = amp.plan().row("attention");
            assertEquals(Precision.FLOAT, row.precision());
            assertEquals("dl4j", row.engine());
            assertEquals("kept full by keepFull(\"attention\")", row.reason());
            graph.fit(data(true));
            assertEquals(1, amp.stepsTaken());
        }
    }

    @Test
    void aFrozenVertexIsLeftToDl4j() {
        ComputationGraph graph = new TransferLearning.GraphBuilder(Networks.init(crossAttending()))
                .setFeatureExtractor("attention")
                .build();
        MultiDataSet data = data(false);
        INDArray expected = graph.output(data.getFeatures())[0];
        INDArray weights = graph.paramTable().get("attention_Wq").dup();
        try (MixedPrecision amp = MixedPrecision.enable(graph, Gradients.config(Precision.HALF))) {
            assertEquals(
                    "DL4J computes it in the network's type only",
                    amp.plan().row("attention").reason());
            Comparison.assertClose(expected, graph.output(data.getFeatures())[0], 0.01, "output");
            graph.fit(data);
            assertEquals(1, amp.stepsTaken());
        }
        assertEquals(weights, graph.paramTable().get("attention_Wq"));
    }

    /** Two micro-batches of one size are one batch. */
    @Test
    void gradientsOfMicroBatchesAreAddedUp() {
        MultiDataSet data = data(false);
        ComputationGraph whole = Networks.init(crossAttending());
        ComputationGraph parts = Networks.init(crossAttending());
        AmpConfig config = Gradients.config(Precision.HALF);
        try (MixedPrecision one = MixedPrecision.enable(whole, config);
                MixedPrecision other = MixedPrecision.enable(
                        parts, config.toBuilder().accumulate(2).build())) {
            whole.fit(data);
            parts.fit(data);
            parts.fit(data);
            assertEquals(1, other.stepsTaken());
        }
        Comparison.assertClose(whole.params(), parts.params(), 1e-4, "parameters");
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(
            value = Precision.class,
            names = {"HALF", "BFLOAT16"})
    void graphsTrainToTheScoreOfFp32(Precision precision) {
        Comparison.assumeComputed(precision);
        MultiDataSet data = data(true);
        ComputationGraph fp32 = Networks.init(crossAttending());
        ComputationGraph mixed = Networks.init(crossAttending());
        double start = fp32.score(data);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(precision))) {
            for (int step = 0; step < 60; step++) {
                fp32.fit(data);
                mixed.fit(data);
            }
            assertEquals(60, amp.stepsTaken());
        }
        double end = fp32.score(data);
        assertTrue(end < 0.7 * start, () -> "from " + start + " to " + end);
        assertEquals(end, mixed.score(data), 0.05 * end + 0.01);
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(
            value = Precision.class,
            names = {"HALF", "BFLOAT16"})
    void layersTrainToTheScoreOfFp32(Precision precision) {
        Comparison.assumeComputed(precision);
        DataSet data = Networks.maskedSequences(MINIBATCH, 5, 3, QUERIES);
        MultiLayerNetwork fp32 = layers();
        MultiLayerNetwork mixed = layers();
        double start = fp32.score(data);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(precision))) {
            PrecisionPlan.Row row = amp.plan().row("layer1");
            assertEquals(precision, row.precision());
            assertEquals("products of " + precision + " summed in FP32, rounded once", row.reason());
            for (int step = 0; step < 60; step++) {
                fp32.fit(data);
                mixed.fit(data);
            }
        }
        double end = fp32.score(data);
        assertTrue(end < 0.7 * start, () -> "from " + start + " to " + end);
        assertEquals(end, mixed.score(data), 0.05 * end + 0.01);
    }

    private static MultiLayerNetwork layers() {
        return Networks.init(Networks.builder(new Adam(0.03))
                .list(
                        new LSTM.Builder().nOut(8).build(),
                        Networks.selfAttention(8, 6, 2),
                        lstm(6),
                        Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(5))
                .build());
    }

    /** Weights that make scores of about a million, which FP16 doesn't have. */
    @Test
    void scoresBeyondTheRangeOfHalfStayRight() {
        ComputationGraph graph = Networks.init(crossAttending());
        for (String name : new String[] {"attention_Wq", "attention_Wk"}) {
            graph.paramTable().get(name).muli(2000);
        }
        INDArray[] features = data(false).getFeatures();
        INDArray expected = graph.output(features)[0];
        try (MixedPrecision amp = MixedPrecision.enable(graph, Gradients.config(Precision.HALF))) {
            INDArray queries = graph.feedForward(features, false).get("queries").castTo(DataType.FLOAT);
            INDArray weights = graph.paramTable().get("attention_Wq").tensorAlongDimension(0, 1, 2);
            double largest = weights.mmul(queries.slice(0)).amaxNumber().doubleValue();
            assertTrue(largest > 256, () -> "largest query " + largest);
            Comparison.assertClose(expected, graph.output(features)[0], 0.02, "output");
            graph.fit(data(false));
            assertEquals(1, amp.stepsTaken());
        }
    }

    @Test
    void inferenceUsesTheCurrentParameters() {
        ComputationGraph graph = Networks.init(crossAttending());
        INDArray[] features = data(false).getFeatures();
        INDArray first = graph.output(features)[0];
        try (InferenceMode mode = MixedPrecision.inference(graph, Gradients.config(Precision.HALF))) {
            Comparison.assertClose(first, graph.output(features)[0], 0.01, "output");
            graph.paramTable().get("attention_Wo").muli(-3);
            mode.refresh();
            INDArray changed = graph.output(features)[0];
            mode.close();
            INDArray expected = graph.output(features)[0];
            assertTrue(expected.distance2(first) > 0.1);
            Comparison.assertClose(expected, changed, 0.01, "output");
        }
    }

    @Test
    void aPauseComputesWithDl4jsVertex() {
        ComputationGraph graph = Networks.init(crossAttending());
        GraphVertex own = graph.getVertex("attention");
        MultiDataSet data = data(true);
        INDArray expected = graph.output(data.getFeatures())[0];
        try (MixedPrecision amp = MixedPrecision.enable(graph, Gradients.config(Precision.HALF))) {
            INDArray rounded = graph.output(data.getFeatures())[0];
            assertNotEquals(expected, rounded);
            try (Pause fp32 = amp.pause()) {
                assertEquals(expected, graph.output(data.getFeatures())[0]);
                graph.fit(data);
            }
            graph.fit(data);
            assertEquals(2, amp.stepsTaken());
        }
        assertSame(own, graph.getVertex("attention"));
    }

    @Test
    void aStepAllocatesNothingOutsideWorkspacesThatDl4jDoesNot() throws ReflectiveOperationException {
        MultiDataSet data = data(true);
        ComputationGraph fp32 = Networks.init(crossAttending());
        long expected = bytesOfStep(fp32, data);
        ComputationGraph mixed = Networks.init(crossAttending());
        try (MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF))) {
            long actual = bytesOfStep(mixed, data);
            assertTrue(actual <= expected, () -> actual + " bytes outside workspaces, of which DL4J " + expected);
        }
    }

    private static long bytesOfStep(ComputationGraph graph, MultiDataSet data) throws ReflectiveOperationException {
        for (int step = 0; step < 4; step++) {
            graph.fit(data);
        }
        return MemoryOutsideWorkspaces.bytesOf(() -> graph.fit(data));
    }

    /** DL4J's own vertex takes the length of the first batch only. */
    @Test
    void lengthsMayChange() {
        ComputationGraph graph = Networks.init(crossAttending());
        try (MixedPrecision amp = MixedPrecision.enable(graph, Gradients.config(Precision.HALF))) {
            for (int length = 1; length < 8; length += 3) {
                INDArray output =
                        graph.output(Networks.gaussian(1, 2, 5, length), Networks.gaussian(2, 2, 3, 10 - length))[0];
                assertEquals(length, output.size(2));
                assertTrue(Double.isFinite(output.sumNumber().doubleValue()));
            }
        }
    }
}
