package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Random;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.activation.UsersFunctions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.ops.transforms.Transforms;

/** Functions of all sums of a time step in recurrent layers: softmax, PReLU, and users' classes. */
class StepwiseFunctionTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final double FLOAT_ERROR = 1e-5;
    /**
     * Functions without bounds, of gates and cells both, cube an output at each step: from here on, errors grow too.
     */
    private static final double LARGEST = 100;

    /** A sigmoid of another slope, of which DL4J's LSTM takes the derivative for that of the sigmoid. */
    public static final class Steep extends ActivationSigmoid {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            return Transforms.sigmoid(in.muli(2), false);
        }
    }

    /** A function, made anew for each layer: some have state. */
    private enum Function {
        TANH(true),
        SIGMOID(true),
        SOFTMAX(true),
        SCALED(true),
        ACROSS_EXAMPLES(true),
        PRELU(true),
        /** Returns a new array, which DL4J's layers ignore in forward passes. */
        CENTERED(false),
        STEEP(false);

        /** Whether DL4J computes the true derivative. */
        private final boolean hasTrueGradient;

        Function(boolean hasTrueGradient) {
            this.hasTrueGradient = hasTrueGradient;
        }

        IActivation make(int units, DataType type) {
            return switch (this) {
                case TANH -> Activation.TANH.getActivationFunction();
                case SIGMOID -> Activation.SIGMOID.getActivationFunction();
                case SOFTMAX -> Activation.SOFTMAX.getActivationFunction();
                case SCALED -> new UsersFunctions.Scaled(1.3, 0.7);
                case ACROSS_EXAMPLES -> new UsersFunctions.AcrossExamples();
                case PRELU ->
                    new ActivationPReLU(
                            Nd4j.linspace(0.1, 0.5, units, DataType.FLOAT)
                                    .castTo(type)
                                    .reshape(units),
                            null);
                case CENTERED -> new UsersFunctions.Centered();
                case STEEP -> new Steep();
            };
        }

        boolean isStepwise() {
            return this != TANH && this != SIGMOID;
        }
    }

    private static BaseRecurrentLayer layer(
            Cell cell, int nIn, int units, RNNFormat format, Function activation, Function gate, DataType type) {
        return cell.layer(nIn, units, format, activation.make(units, type), gate.make(units, type));
    }

    private static INDArray params(Random random, BaseRecurrentLayer conf) {
        return gaussian(random, 0.3, conf.initializer().numParams(conf));
    }

    private static INDArray sequences(Random random, boolean nwc, long minibatch, long size, long steps) {
        return nwc ? gaussian(random, 1, minibatch, steps, size) : gaussian(random, 1, minibatch, size, steps);
    }

    @Property(tries = 80)
    void inFp32TheyAgreeWithDl4jsLayers(
            @ForAll long seed,
            @ForAll Cell cell,
            @ForAll boolean nwc,
            @ForAll boolean masked,
            @ForAll Function activation,
            @ForAll Function gate,
            @ForAll @IntRange(min = 2, max = 9) int nIn,
            @ForAll @IntRange(min = 2, max = 9) int units,
            @ForAll @IntRange(min = 2, max = 5) int minibatch,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        Random random = new Random(seed);
        RNNFormat format = nwc ? RNNFormat.NWC : RNNFormat.NCW;
        BaseRecurrentLayer conf = layer(cell, nIn, units, format, activation, gate, DataType.FLOAT);
        INDArray params = params(random, conf);
        INDArray input = sequences(random, nwc, minibatch, nIn, steps);
        INDArray epsilon = sequences(random, nwc, minibatch, units, steps);
        INDArray mask = masked ? RecurrentTwinTest.mask(random, minibatch, steps) : null;
        Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon.dup());
        Assume.that(expected.output().amaxNumber().doubleValue() < LARGEST);
        BaseRecurrentLayer own = layer(cell, nIn, units, format, activation, gate, DataType.FLOAT);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, own, params, DataType.FLOAT);
            assertTrue(twin.twin().compute() instanceof AutoCloseable);
            twin.setMaskArray(mask);
            for (int repetition = 0; repetition < 2; repetition++) {
                SingleLayer.Result actual = SingleLayer.run(twin, input.dup(), epsilon.dup());
                Agreement.assertWithin("output", expected.output(), actual.output(), FLOAT_ERROR);
                Agreement.assertWithin("input gradient", expected.inputGradient(), actual.inputGradient(), FLOAT_ERROR);
                Agreement.assertWithin(
                        "gradient",
                        dl4j.getGradientsViewArray().reshape(params.length()),
                        twin.getGradientsViewArray().reshape(params.length()),
                        FLOAT_ERROR);
            }
        }
    }

    @Property(tries = 30)
    void inBfloat16TheyDifferByRoundingOnly(
            @ForAll long seed, @ForAll Cell cell, @ForAll boolean masked, @ForAll @IntRange(max = 3) int which) {
        DataType type = Types.half();
        Function[] functions = {Function.SOFTMAX, Function.SCALED, Function.ACROSS_EXAMPLES, Function.PRELU};
        Random random = new Random(seed);
        BaseRecurrentLayer conf = layer(cell, 6, 7, RNNFormat.NCW, functions[which], Function.SIGMOID, DataType.FLOAT);
        INDArray params = params(random, conf);
        INDArray input = gaussian(random, 1, 4, 6, 5);
        INDArray epsilon = gaussian(random, 1, 4, 7, 5);
        INDArray mask = masked ? RecurrentTwinTest.mask(random, 4, 5) : null;
        Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon.dup());
        double bound = 6 * Agreement.rounding(type) + FLOAT_ERROR;
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, type);
            twin.setMaskArray(mask);
            SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
            Agreement.assertWithin("output", expected.output(), actual.output(), bound);
            Agreement.assertWithin("input gradient", expected.inputGradient(), actual.inputGradient(), bound);
            Agreement.assertWithin(
                    "gradient",
                    dl4j.getGradientsViewArray().reshape(params.length()),
                    twin.getGradientsViewArray().reshape(params.length()),
                    bound);
        }
    }

    /** DL4J's layer in double precision, so that differences are exact to about ten digits. */
    private static double loss(BaseRecurrentLayer conf, INDArray params, INDArray input, INDArray epsilon) {
        NeuralNetConfiguration wrapped = new NeuralNetConfiguration();
        wrapped.setLayer(conf);
        wrapped.setDataType(DataType.DOUBLE);
        Layer layer = conf.instantiate(wrapped, new ArrayList<>(), 0, params, false, DataType.DOUBLE);
        layer.setInput(input.dup(), NONE);
        return layer.activate(true, NONE).mul(epsilon).sumNumber().doubleValue();
    }

    @ParameterizedTest
    @EnumSource(Cell.class)
    void gradientsAreThoseOfDifferencesInDoublePrecision(Cell cell) {
        Random random = new Random(7);
        for (Function function : Function.values()) {
            if (function.isStepwise() && function.hasTrueGradient) {
                for (Function gate : new Function[] {Function.SIGMOID, function}) {
                    BaseRecurrentLayer conf = layer(cell, 3, 3, RNNFormat.NCW, function, gate, DataType.FLOAT);
                    INDArray params = params(random, conf);
                    INDArray input = gaussian(random, 1, 2, 3, 4);
                    INDArray epsilon = gaussian(random, 1, 2, 3, 4);
                    BaseRecurrentLayer exact = layer(cell, 3, 3, RNNFormat.NCW, function, gate, DataType.DOUBLE);
                    INDArray differences = differences(exact, params, input, epsilon);
                    try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                        TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
                        SingleLayer.run(twin, input.dup(), epsilon.dup());
                        Agreement.assertWithin(
                                function + ", gates " + gate,
                                differences,
                                twin.getGradientsViewArray().reshape(params.length()),
                                FLOAT_ERROR);
                    }
                }
            }
        }
    }

    private static INDArray differences(BaseRecurrentLayer conf, INDArray params, INDArray input, INDArray epsilon) {
        INDArray point = params.castTo(DataType.DOUBLE).reshape(1, params.length());
        INDArray x = input.castTo(DataType.DOUBLE);
        INDArray factors = epsilon.castTo(DataType.DOUBLE);
        INDArray gradient = Nd4j.create(DataType.DOUBLE, params.length());
        double step = 1e-5;
        for (long i = 0; i < params.length(); i++) {
            double value = point.getDouble(0, i);
            point.putScalar(0, i, value + step);
            double above = loss(conf, point.dup(), x, factors);
            point.putScalar(0, i, value - step);
            double below = loss(conf, point.dup(), x, factors);
            point.putScalar(0, i, value);
            gradient.putScalar(i, (above - below) / (2 * step));
        }
        return gradient;
    }

    @Test
    void whatAFunctionThrowsIsThrown() {
        UsersFunctions.Failing failing = new UsersFunctions.Failing();
        for (Cell cell : Cell.values()) {
            BaseRecurrentLayer conf =
                    cell.layer(3, 3, RNNFormat.NCW, failing, Activation.SIGMOID.getActivationFunction());
            INDArray params = params(new Random(1), conf);
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
                for (boolean forward : new boolean[] {true, false}) {
                    failing.fail(forward, !forward);
                    String message = assertThrows(
                                    ArithmeticException.class,
                                    () -> SingleLayer.run(twin, Nd4j.ones(2, 3, 2), Nd4j.ones(2, 3, 2)))
                            .getMessage();
                    assertEquals(forward ? "forward" : "backward", message);
                }
                failing.fail(false, false);
            }
        }
    }
}
