package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.ops.transforms.Transforms;

class DenseTwinTest {
    private static final List<Activation> ACTIVATIONS =
            List.of(Activation.IDENTITY, Activation.RELU, Activation.TANH, Activation.GELU);

    @Property(tries = 25)
    void agreesWithDl4jsLayerOnRandomShapes(
            @ForAll long seed,
            @ForAll @IntRange(max = 3) int choice,
            @ForAll @IntRange(min = 1, max = 70) int nIn,
            @ForAll @IntRange(min = 1, max = 70) int nOut,
            @ForAll @IntRange(min = 1, max = 9) int batch,
            @ForAll boolean bias) {
        Random random = new Random(seed);
        DenseLayer conf = new DenseLayer.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .hasBias(bias)
                .activation(ACTIVATIONS.get(choice))
                .build();
        TwinCheck.of(conf, DenseTwin.class, random)
                .roundingDelta(choice < 2 ? 0 : 1)
                .agrees(gaussian(random, 1, batch, nIn));
    }

    // Of few inputs the gradient would be next to nothing: the output doesn't change with the input's size.
    @Property(tries = 25)
    void agreesWithDl4jsLayerWithLayerNormalization(
            @ForAll long seed,
            @ForAll @IntRange(max = 3) int choice,
            @ForAll @IntRange(min = 4, max = 40) int nIn,
            @ForAll @IntRange(min = 4, max = 40) int nOut,
            @ForAll @IntRange(min = 1, max = 9) int batch,
            @ForAll boolean bias) {
        Random random = new Random(seed);
        DenseLayer conf = normalized(nIn, nOut, bias, choice);
        INDArray params = gaussian(random, 0.5, conf.initializer().numParams(conf));
        INDArray input = gaussian(random, 1, batch, nIn);
        INDArray epsilon = gaussian(random, 1, batch, nOut);
        SingleLayer.Result expected = SingleLayer.run(SingleLayer.dl4j(conf, params), input, epsilon);
        INDArray weights =
                params.get(NDArrayIndex.interval(0, nIn * (long) nOut)).reshape('f', nIn, nOut);
        INDArray delta = Transforms.abs(delta(conf, choice, params, input.mmul(weights), epsilon));
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                assertInstanceOf(NormalizedDenseTwin.class, twin.twin().compute());
                SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                double rounding = type == DataType.FLOAT ? 0 : Agreement.ROUNDING;
                Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
                Agreement.assertSummedOfRounded(
                        type + " input gradient",
                        expected.inputGradient(),
                        actual.inputGradient(),
                        delta.mmul(Transforms.abs(weights).transpose()),
                        rounding);
                Agreement.assertSummedOfRounded(
                        type + " W",
                        expected.gradient().getGradientFor("W"),
                        actual.gradient().getGradientFor("W"),
                        Transforms.abs(input).transpose().mmul(delta),
                        rounding);
                for (String parameter : bias ? List.of("b", "g") : List.of("g")) {
                    Agreement.assertWithin(
                            type + " " + parameter,
                            expected.gradient().getGradientFor(parameter),
                            actual.gradient().getGradientFor(parameter),
                            1e-5);
                }
            }
        }
    }

    private static DenseLayer normalized(int nIn, int nOut, boolean bias, int choice) {
        return new DenseLayer.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .hasBias(bias)
                .hasLayerNorm(true)
                .activation(ACTIVATIONS.get(choice))
                .build();
    }

    /** Such as examples of zeros behind dead ReLUs: they have no deviation to divide by. */
    @Test
    void normalizedExamplesOfZerosHaveNoGradientAsInDl4j() {
        Random random = new Random(3);
        for (boolean bias : new boolean[] {true, false}) {
            DenseLayer conf = normalized(6, 5, bias, 0);
            INDArray params = gaussian(random, 0.5, conf.initializer().numParams(conf));
            INDArray input = gaussian(random, 1, 4, 6);
            input.getRow(1).assign(0);
            INDArray epsilon = gaussian(random, 1, 4, 5);
            SingleLayer.Result expected = SingleLayer.run(SingleLayer.dl4j(conf, params), input, epsilon);
            assertEquals(0, expected.inputGradient().getRow(1).amaxNumber().doubleValue());
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
                SingleLayer.Result actual = SingleLayer.run(twin, input, epsilon);
                Agreement.assertWithin("output", expected.output(), actual.output(), 1e-5);
                Agreement.assertWithin("input gradient", expected.inputGradient(), actual.inputGradient(), 1e-5);
                for (String parameter : bias ? List.of("W", "b", "g") : List.of("W", "g")) {
                    Agreement.assertWithin(
                            parameter,
                            expected.gradient().getGradientFor(parameter),
                            actual.gradient().getGradientFor(parameter),
                            1e-5);
                }
            }
        }
    }

    /** The gradient of the sums: that of a layer's input which multiplies by one. */
    private static INDArray delta(DenseLayer conf, int choice, INDArray params, INDArray sums, INDArray epsilon) {
        int nOut = (int) conf.getNOut();
        INDArray others = params.get(NDArrayIndex.interval(conf.getNIn() * nOut, params.length()));
        INDArray ones = Nd4j.eye(nOut).castTo(DataType.FLOAT).reshape((long) nOut * nOut);
        DenseLayer passing = normalized(nOut, nOut, conf.hasBias(), choice);
        return SingleLayer.run(SingleLayer.dl4j(passing, Nd4j.concat(0, ones, others)), sums, epsilon)
                .inputGradient();
    }

    @Test
    void takesInputAndEpsilonInAnyOrderInMemory() {
        DenseLayer conf = new DenseLayer.Builder()
                .nIn(5)
                .nOut(3)
                .activation(Activation.IDENTITY)
                .build();
        Random random = new Random(5);
        INDArray params = gaussian(random, 1, conf.initializer().numParams(conf));
        INDArray input = gaussian(random, 1, 4, 5);
        INDArray epsilon = gaussian(random, 1, 4, 3);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            SingleLayer.Result c = SingleLayer.run(Layers.twin(session, conf, params, DataType.FLOAT), input, epsilon);
            INDArray view = gaussian(random, 1, 4, 9)
                    .assign(0)
                    .get(
                            org.nd4j.linalg.indexing.NDArrayIndex.all(),
                            org.nd4j.linalg.indexing.NDArrayIndex.interval(2, 7));
            view.assign(input);
            SingleLayer.Result f =
                    SingleLayer.run(Layers.twin(session, conf, params, DataType.FLOAT), view, epsilon.dup('f'));
            assertEquals(c.output(), f.output());
            assertEquals(c.inputGradient(), f.inputGradient());
            assertEquals(c.gradient().gradient(), f.gradient().gradient());
        }
    }

    @Test
    void answersABadShapeAsDl4jDoes() {
        DenseLayer conf = new DenseLayer.Builder().nIn(5).nOut(3).build();
        INDArray params = gaussian(new Random(1), 1, conf.initializer().numParams(conf));
        for (long[] shape : new long[][] {{2, 3}, {2, 5, 3}}) {
            INDArray input = gaussian(new Random(2), 1, shape);
            String expected = messageOf(SingleLayer.dl4j(conf, params), input);
            try (EngineSession session = new OneDnnEngine().session(1, true)) {
                assertEquals(expected, messageOf(Layers.twin(session, conf, params, DataType.FLOAT), input));
            }
        }
    }

    private static String messageOf(org.deeplearning4j.nn.api.Layer layer, INDArray input) {
        return assertThrows(
                        DL4JInvalidInputException.class,
                        () -> layer.activate(input, false, LayerWorkspaceMgr.noWorkspaces()))
                .getMessage();
    }
}
