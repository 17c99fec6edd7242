package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.From;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.cell.LstmCell;
import org.dl4jamp.onednn.cell.RecurrentCell;
import org.dl4jamp.onednn.cell.RecurrentParameters;
import org.dl4jamp.onednn.cell.RecurrentState;
import org.dl4jamp.onednn.cell.Sequences;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.junit.jupiter.api.Test;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** LSTM with and without peepholes, and simple RNN. */
class RecurrentTwinTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final List<Activation> ACTIVATIONS =
            List.of(Activation.TANH, Activation.RELU, Activation.SOFTSIGN, Activation.IDENTITY);
    private static final List<Activation> GATES = List.of(Activation.SIGMOID, Activation.HARDSIGMOID);
    private static final Map<Activation, RecurrentReference.Function> SMOOTH = Map.of(
            Activation.TANH, RecurrentReference.Function.TANH,
            Activation.SOFTSIGN, RecurrentReference.Function.SOFTSIGN,
            Activation.IDENTITY, RecurrentReference.Function.IDENTITY);
    private static final double FLOAT_ERROR = 1e-5;

    private static INDArray params(Random random, BaseRecurrentLayer conf) {
        return gaussian(random, 0.3, conf.initializer().numParams(conf));
    }

    static INDArray mask(Random random, long minibatch, long steps) {
        INDArray mask = Nd4j.zeros(DataType.FLOAT, minibatch, steps);
        for (long n = 0; n < minibatch; n++) {
            int from = random.nextInt((int) steps);
            for (long t = random.nextBoolean() ? 0 : from; t < steps; t++) {
                mask.putScalar(n, t, random.nextInt(4) == 0 ? 0 : 1);
            }
        }
        return mask;
    }

    /** All parameters together: sums over time steps cancel out in one or the other of them. */
    private static void assertGradientsAgree(
            org.deeplearning4j.nn.api.Layer dl4j, org.deeplearning4j.nn.api.Layer twin, String what) {
        Agreement.assertWithin(
                what + " gradient",
                dl4j.getGradientsViewArray().reshape(dl4j.numParams()),
                twin.getGradientsViewArray().reshape(dl4j.numParams()),
                FLOAT_ERROR);
    }

    /** An input's gradient is summed up from the gradients of all gates, and those are in the parameters'. */
    private static void assertInputGradientsAgree(
            SingleLayer.Result expected, SingleLayer.Result actual, org.deeplearning4j.nn.api.Layer dl4j) {
        Agreement.assertWithin(
                "input gradient",
                expected.inputGradient(),
                actual.inputGradient(),
                FLOAT_ERROR,
                dl4j.getGradientsViewArray());
    }

    @Property(tries = 60)
    void inFp32TheyAgreeWithDl4jsLayers(
            @ForAll long seed,
            @ForAll Cell cell,
            @ForAll boolean nwc,
            @ForAll boolean masked,
            @ForAll @IntRange(max = 3) int activation,
            @ForAll @IntRange(max = 1) int gate,
            @ForAll @IntRange(min = 1, max = 35) int nIn,
            @ForAll @IntRange(min = 1, max = 35) int units,
            @ForAll @IntRange(min = 1, max = 5) int minibatch,
            @ForAll @IntRange(min = 1, max = 7) int steps) {
        Random random = new Random(seed);
        RNNFormat format = nwc ? RNNFormat.NWC : RNNFormat.NCW;
        BaseRecurrentLayer conf = cell.layer(nIn, units, format, ACTIVATIONS.get(activation), GATES.get(gate));
        INDArray params = params(random, conf);
        INDArray input = nwc ? gaussian(random, 1, minibatch, steps, nIn) : gaussian(random, 1, minibatch, nIn, steps);
        INDArray epsilon =
                nwc ? gaussian(random, 1, minibatch, steps, units) : gaussian(random, 1, minibatch, units, steps);
        INDArray mask = masked ? mask(random, minibatch, steps) : null;
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            assertTrue(twin.twin().compute() instanceof AutoCloseable);
            twin.setMaskArray(mask);
            SingleLayer.Result actual = SingleLayer.run(twin, input, epsilon);
            Agreement.assertWithin("output", expected.output(), actual.output(), FLOAT_ERROR);
            assertInputGradientsAgree(expected, actual, dl4j);
            assertEquals(
                    expected.gradient().gradientForVariable().keySet(),
                    actual.gradient().gradientForVariable().keySet());
            assertGradientsAgree(dl4j, twin, conf.getClass().getSimpleName());
        }
    }

    @Provide
    static Arbitrary<Activation> smooth() {
        return Arbitraries.of(SMOOTH.keySet());
    }

    /** Rounding may go the other way where FP32 sums differ: a fraction of one rounding is left to that. */
    @Property(tries = 45)
    void inBfloat16TheyRoundOutputsDeltasAndWhatTheyKeepOnceAndNothingElse(
            @ForAll long seed,
            @ForAll Cell cell,
            @ForAll boolean masked,
            @ForAll @From("smooth") Activation activation,
            @ForAll @IntRange(min = 1, max = 35) int nIn,
            @ForAll @IntRange(min = 1, max = 35) int units,
            @ForAll @IntRange(min = 1, max = 5) int minibatch,
            @ForAll @IntRange(min = 1, max = 7) int steps) {
        DataType type = Types.half();
        Random random = new Random(seed);
        BaseRecurrentLayer conf = cell.layer(nIn, units, RNNFormat.NCW, activation, Activation.SIGMOID);
        INDArray params = params(random, conf);
        INDArray input = gaussian(random, 1, minibatch, nIn, steps);
        INDArray epsilon = gaussian(random, 1, minibatch, units, steps);
        INDArray mask = masked ? mask(random, minibatch, steps) : null;
        RecurrentReference.Result expected = new RecurrentReference(
                        type, cell, SMOOTH.get(activation), params, nIn, units)
                .run(input, epsilon, mask);
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        SingleLayer.Result full = SingleLayer.run(dl4j, input, epsilon);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, type);
            twin.setMaskArray(mask);
            SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
            INDArray gradient = twin.getGradientsViewArray().reshape(params.length());
            double rounding = Agreement.rounding(type);
            double other = rounding / 4 + FLOAT_ERROR;
            Agreement.assertWithin("output", expected.output(), actual.output(), other);
            Agreement.assertWithin(
                    "input gradient", expected.inputGradient(), actual.inputGradient(), rounding + other);
            Agreement.assertWithin("gradient", expected.gradient(), gradient, rounding / 2 + FLOAT_ERROR);
            // Of the order of one rounding, and the same direction.
            Agreement.assertWithin("output beside FP32", full.output(), actual.output(), 4 * rounding + FLOAT_ERROR);
        }
    }

    @Property(tries = 25)
    void carryTheirStateAsDl4jDoes(
            @ForAll long seed,
            @ForAll Cell cell,
            @ForAll @IntRange(min = 1, max = 20) int nIn,
            @ForAll @IntRange(min = 1, max = 20) int units,
            @ForAll @IntRange(min = 1, max = 4) int minibatch,
            @ForAll @IntRange(min = 1, max = 5) int steps,
            @ForAll @IntRange(min = 1, max = 6) int back) {
        Random random = new Random(seed);
        BaseRecurrentLayer conf = cell.layer(nIn, units, RNNFormat.NCW);
        INDArray params = params(random, conf);
        RecurrentLayer dl4j = (RecurrentLayer) SingleLayer.dl4j(conf, params);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer wrapper = Layers.twin(session, conf, params, DataType.FLOAT);
            RecurrentLayer twin = (RecurrentLayer) wrapper.twin().compute();
            for (int part = 0; part < 3; part++) {
                INDArray input = gaussian(random, 1, minibatch, nIn, steps);
                Agreement.assertWithin(
                        "time step " + part, dl4j.rnnTimeStep(input, NONE), twin.rnnTimeStep(input, NONE), FLOAT_ERROR);
            }
            dl4j.rnnClearPreviousState();
            twin.rnnClearPreviousState();
            for (int segment = 0; segment < 3; segment++) {
                INDArray input = gaussian(random, 1, minibatch, nIn, steps);
                INDArray epsilon = gaussian(random, 1, minibatch, units, steps);
                SingleLayer.Result expected = segment(dl4j, input, epsilon, back);
                SingleLayer.Result actual = segment(twin, input, epsilon, back);
                Agreement.assertWithin("output", expected.output(), actual.output(), FLOAT_ERROR);
                if (cell.isLstm() || back >= steps) {
                    // DL4J's simple RNN leaves the gradients of earlier inputs as it finds them in memory.
                    assertInputGradientsAgree(expected, actual, dl4j);
                }
                assertGradientsAgree(dl4j, twin, "segment " + segment);
                assertEquals(
                        dl4j.rnnGetTBPTTState().keySet(),
                        twin.rnnGetTBPTTState().keySet());
            }
        }
    }

    /** Runs the passes as networks do for truncated BPTT. */
    private static SingleLayer.Result segment(RecurrentLayer layer, INDArray input, INDArray epsilon, int back) {
        INDArray output =
                layer.rnnActivateUsingStoredState(input, true, true, NONE).dup();
        Pair<Gradient, INDArray> result = layer.tbpttBackpropGradient(epsilon.dup(), back, NONE);
        layer.rnnSetPreviousState(layer.rnnGetTBPTTState());
        return new SingleLayer.Result(output, result.getFirst(), result.getSecond());
    }

    @Test
    void makePrimitivesOnceForEachShape() {
        LSTM conf = (LSTM) Cell.LSTM.layer(12, 8, RNNFormat.NCW);
        Random random = new Random(1);
        RecurrentParameters parameters = new RecurrentParameters(
                gaussian(random, 0.3, 12, 32).dup('f'),
                gaussian(random, 0.3, 8, 32).dup('f'),
                gaussian(random, 0.3, 32));
        List<SequenceShape> made = new ArrayList<>();
        try (OneDnnContext context = new OneDnnContext();
                RecurrentPasses passes = new RecurrentPasses(
                        context,
                        DataType.FLOAT,
                        LstmCell.GATES,
                        (shape, weights) -> {
                            made.add(shape);
                            return new LstmCell(
                                    new RecurrentCell.Setup(context, "layer", DataType.FLOAT, shape, weights), conf);
                        },
                        Optional.empty())) {
            for (int step = 0; step < 6; step++) {
                INDArray input = gaussian(random, 1, 3, 12, step % 2 == 0 ? 5 : 4);
                passes.forward(new Sequences(input, null, RecurrentState.ZERO, parameters), true, null, NONE);
            }
        }
        assertEquals(List.of(new SequenceShape(3, 5, 12, 8, 4), new SequenceShape(3, 4, 12, 8, 4)), made);
    }

    @Test
    void answerABadShapeAsDl4jDoes() {
        BaseRecurrentLayer conf = Cell.LSTM.layer(5, 3, RNNFormat.NCW);
        INDArray params = params(new Random(1), conf);
        INDArray input = gaussian(new Random(2), 1, 2, 4, 3);
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            assertEquals(
                    messageOf(SingleLayer.dl4j(conf, params), input),
                    messageOf(Layers.twin(session, conf, params, DataType.FLOAT), input));
        }
    }

    private static String messageOf(org.deeplearning4j.nn.api.Layer layer, INDArray input) {
        return assertThrows(DL4JInvalidInputException.class, () -> layer.activate(input, false, NONE))
                .getMessage();
    }
}
