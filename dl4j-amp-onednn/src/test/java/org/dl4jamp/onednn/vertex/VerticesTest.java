package org.dl4jamp.onednn.vertex;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex.Op;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.graph.L2Vertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.graph.ReshapeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.ShiftVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.twin.Gate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Vertices against DL4J's own on the same numbers. */
class VerticesTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    private static final VertexCheck CHECK = new VertexCheck(VertexCheck.graph(2));

    @Property
    void combinesElementByElement(
            @ForAll long seed,
            @ForAll Op op,
            @ForAll @IntRange(min = 2, max = 4) int inputs,
            @ForAll @IntRange(min = 1, max = 19) int channels,
            @ForAll @IntRange(min = 1, max = 6) int height,
            @ForAll boolean channelsLast) {
        Random random = new Random(seed);
        int count = op == Op.Subtract ? 2 : inputs;
        long[] shape = seed % 3 == 0 ? new long[] {2, channels} : new long[] {2, channels, height, 3};
        INDArray[] arrays = new INDArray[count];
        Arrays.setAll(arrays, i -> gaussian(random, 1, shape));
        CHECK.agrees(new ElementWiseVertex(op), random, channelsLast, arrays);
    }

    /** oneDNN takes 32 operations after the first. */
    @ParameterizedTest
    @CsvSource({"24, Add", "25, Average", "33, Add", "34, Add", "35, Average", "48, Max", "70, Average", "40, Product"})
    void combinesMoreArraysThanOnePassTakes(int inputs, Op op) {
        Random random = new Random(inputs);
        INDArray[] arrays = new INDArray[inputs];
        // A product of many normally distributed numbers would be next to nothing.
        Arrays.setAll(arrays, i -> op == Op.Product ? signs(random, 2, 5, 4, 3) : gaussian(random, 1, 2, 5, 4, 3));
        CHECK.agrees(new ElementWiseVertex(op), random, inputs % 2 == 0, arrays);
    }

    private static INDArray signs(Random random, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextBoolean() ? 1 : -1);
        }
        return array;
    }

    @Test
    void givesTheGradientOfAMaximumToTheFirstOfEqualInputs() {
        Random random = new Random(4);
        INDArray a = gaussian(random, 1, 2, 3, 2, 2);
        CHECK.agrees(new ElementWiseVertex(Op.Max), random, true, a, a.dup(), gaussian(random, 1, 2, 3, 2, 2));
    }

    @Property
    void merges(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 9) int first,
            @ForAll @IntRange(min = 1, max = 9) int second,
            @ForAll @IntRange(min = 2, max = 4) int rank,
            @ForAll boolean channelsLast) {
        Random random = new Random(seed);
        long[] shape = Arrays.copyOf(new long[] {2, first, 3, 4}, rank);
        long[] other = shape.clone();
        other[1] = second;
        CHECK.agrees(
                new MergeVertex(),
                random,
                channelsLast,
                gaussian(random, 1, shape),
                gaussian(random, 1, other),
                gaussian(random, 1, shape));
    }

    @Property
    void scalesShiftsAndTakesSubsets(
            @ForAll long seed,
            @ForAll @IntRange(min = 4, max = 9) int channels,
            @ForAll @IntRange(max = 3) int from,
            @ForAll @IntRange(min = 2, max = 4) int rank,
            @ForAll boolean channelsLast) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, Arrays.copyOf(new long[] {2, channels, 3, 4}, rank));
        CHECK.agrees(new ScaleVertex(-0.5), random, channelsLast, input);
        CHECK.agrees(new ShiftVertex(1.25), random, channelsLast, input);
        CHECK.agrees(new SubsetVertex(from, channels - 1), random, channelsLast, input);
    }

    /** In FP32: the planner gives these vertices nothing else. */
    @Property
    void measuresDistancesAndDividesByNorms(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 19) int channels,
            @ForAll @IntRange(min = 2, max = 4) int rank,
            @ForAll boolean channelsLast,
            @ForAll boolean zero) {
        Random random = new Random(seed);
        long[] shape = Arrays.copyOf(new long[] {3, channels, 3, 2}, rank);
        INDArray one = gaussian(random, 1, shape);
        INDArray other = gaussian(random, 1, shape);
        CHECK.agreesInFloat(new L2Vertex(), random, channelsLast, one, other);
        CHECK.agreesInFloat(new L2Vertex(0.5), random, channelsLast, one, one.add(other.mul(0.01)));
        if (rank == 2 && channels == 1) {
            // Gradients of single numbers divided by their own magnitude are zero, but for rounding.
            return;
        }
        if (zero) {
            one.slice(1).assign(0);
        }
        CHECK.agreesInFloat(new L2NormalizeVertex(), random, channelsLast, one);
        CHECK.agreesInFloat(new L2NormalizeVertex(null, 2), random, channelsLast, one);
    }

    @Test
    void reshapes() {
        Random random = new Random(8);
        INDArray input = gaussian(random, 1, 2, 6, 3, 4);
        CHECK.agrees(new ReshapeVertex(2, 3, 6, 4), random, true, input);
        CHECK.agrees(new PreprocessorVertex(new CnnToFeedForwardPreProcessor(3, 4, 6)), random, true, input);
    }

    /** One number for all positions of a channel, or for all channels of a position. */
    @Property
    void broadcasts(
            @ForAll long seed,
            @ForAll Op op,
            @ForAll boolean channels,
            @ForAll boolean partFirst,
            @ForAll @IntRange(min = 2, max = 19) int size,
            @ForAll @IntRange(min = 2, max = 5) int rank,
            @ForAll boolean channelsLast) {
        Random random = new Random(seed);
        long[] whole = Arrays.copyOf(new long[] {2, size, 3, 4, 2}, rank);
        long[] part = Arrays.copyOf(new long[] {2, size, 1, 1, 1}, rank);
        if (channels || rank == 2) {
            part = whole.clone();
            part[1] = 1;
        }
        // DL4J's own maximum fails in BFLOAT16.
        Assume.that(op != Op.Max || Arrays.equals(whole, part));
        INDArray first = gaussian(random, 1, partFirst ? part : whole);
        INDArray second = gaussian(random, 1, partFirst ? whole : part);
        CHECK.agrees(new ElementWiseVertex(op), random, channelsLast, first, second);
    }

    /** Of other shapes, here one number for all examples. */
    @Test
    void leavesOtherBroadcastingToDl4j() {
        Random random = new Random(9);
        CHECK.agrees(
                new ElementWiseVertex(Op.Add), random, false, gaussian(random, 1, 2, 5), gaussian(random, 1, 1, 5));
    }

    @Test
    void answersBadShapesAsDl4jDoes() {
        INDArray[] inputs = {gaussian(new Random(1), 1, 2, 3), gaussian(new Random(2), 1, 2, 3, 4)};
        GraphVertex own = CHECK.dl4j(new MergeVertex(), 2, DataType.FLOAT);
        own.setInputs(inputs);
        String expected = assertThrows(IllegalStateException.class, () -> own.doForward(true, NONE))
                .getMessage();
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            GraphVertex twin = session.vertex(new VertexRequest(
                    "v",
                    CHECK.dl4j(new MergeVertex(), 2, DataType.FLOAT),
                    new MergeVertex(),
                    DataType.FLOAT,
                    DataType.FLOAT,
                    type -> type,
                    Chain.CONTEXT,
                    Optional.empty(),
                    new Gate()));
            twin.setInputs(inputs);
            assertEquals(
                    expected,
                    assertThrows(IllegalStateException.class, () -> twin.doForward(true, NONE))
                            .getMessage());
        }
    }
}
