package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.AttentionFormula;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A recurrent layer with attention to its whole input against DL4J's own. */
class RecurrentAttentionTwinTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    /** All that DL4J's layer has. */
    private static final Activation[] FUNCTIONS = {
        Activation.TANH,
        Activation.SIGMOID,
        Activation.RELU,
        Activation.IDENTITY,
        Activation.CUBE,
        Activation.ELU,
        Activation.GELU,
        Activation.HARDTANH,
        Activation.LEAKYRELU,
        Activation.SOFTMAX,
        Activation.SOFTPLUS,
        Activation.SOFTSIGN
    };

    private static RecurrentAttentionLayer layer(
            int nIn, int nOut, int heads, int size, Activation function, boolean bias) {
        return new RecurrentAttentionLayer.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .nHeads(heads)
                .headSize(size)
                .projectInput(true)
                .hasBias(bias)
                .activation(function)
                .build();
    }

    private static RecurrentAttentionLayer withoutProjections(int size, Activation function, boolean bias) {
        return new RecurrentAttentionLayer.Builder()
                .nIn(size)
                .nOut(size)
                .nHeads(1)
                .projectInput(false)
                .hasBias(bias)
                .activation(function)
                .build();
    }

    private static void agrees(
            RecurrentAttentionLayer conf, INDArray input, INDArray mask, Random random, DataType type) {
        INDArray params = gaussian(random, 0.1, conf.initializer().numParams(conf));
        Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        INDArray epsilon =
                gaussian(random, 1, dl4j.activate(input.dup(), true, NONE).shape());
        SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon);
        double bound = 2 * Agreement.rounding(type) + 1e-5;
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            TwinLayer twin = Layers.twin(session, conf, params, type);
            assertInstanceOf(RecurrentAttentionTwin.class, twin.twin().compute());
            twin.setMaskArray(mask);
            for (int repetition = 0; repetition < 2; repetition++) {
                SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                Agreement.assertWithin("output", expected.output(), actual.output(), bound);
                Agreement.assertWithin("input", expected.inputGradient(), actual.inputGradient(), bound);
                for (String name : expected.gradient().gradientForVariable().keySet()) {
                    Agreement.assertWithin(name, expected.gradient(name), actual.gradient(name), bound);
                }
            }
        }
    }

    @Test
    void eachFunctionGivesDl4jsNumbers() {
        Random random = new Random(4);
        INDArray input = gaussian(random, 1, 3, 5, 4);
        for (Activation function : FUNCTIONS) {
            agrees(layer(5, 6, 2, 3, function, true), input, null, random, DataType.FLOAT);
        }
    }

    @Property(tries = 12)
    void withoutProjectionsItGivesDl4jsNumbers(
            @ForAll long seed,
            @ForAll boolean masked,
            @ForAll boolean bias,
            @ForAll @IntRange(max = 11) int function,
            @ForAll @IntRange(min = 2, max = 6) int size,
            @ForAll @IntRange(min = 1, max = 4) int minibatch,
            @ForAll @IntRange(min = 2, max = 6) int steps) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, minibatch, size, steps);
        INDArray mask = masked ? SelfAttentionTwinTest.mask(random, minibatch, steps) : null;
        agrees(withoutProjections(size, FUNCTIONS[function], bias), input, mask, random, DataType.FLOAT);
    }

    @Property(tries = 15)
    void itGivesDl4jsNumbers(
            @ForAll long seed,
            @ForAll boolean masked,
            @ForAll boolean bias,
            @ForAll @IntRange(max = 11) int function,
            @ForAll @IntRange(min = 1, max = 3) int heads,
            @ForAll @IntRange(min = 1, max = 4) int headSize,
            @ForAll @IntRange(min = 1, max = 4) int minibatch,
            @ForAll @IntRange(min = 2, max = 6) int steps) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, minibatch, 5, steps);
        INDArray mask = masked ? SelfAttentionTwinTest.mask(random, minibatch, steps) : null;
        agrees(layer(5, 6, heads, headSize, FUNCTIONS[function], bias), input, mask, random, DataType.FLOAT);
    }

    @Test
    void longerSequencesGiveDl4jsNumbersInAllTypes() {
        for (DataType type : Types.here()) {
            Random random = new Random(3);
            INDArray input = gaussian(random, 1, 8, 24, 12);
            RecurrentAttentionLayer conf = layer(24, 32, 4, 8, Activation.TANH, true);
            agrees(conf, input, null, random, type);
            agrees(conf, input, SelfAttentionTwinTest.mask(random, 8, 12), random, type);
            agrees(withoutProjections(24, Activation.TANH, true), input, null, random, type);
        }
    }

    /** DL4J's own gradients are FP32: these are differences of the formula's results in double precision. */
    @Test
    void itGivesTheFormulasNumbersAndTwiceItsGradients() {
        Random random = new Random(9);
        RecurrentAttentionLayer conf = layer(5, 6, 2, 3, Activation.TANH, true);
        INDArray params = gaussian(random, 0.4, conf.initializer().numParams(conf));
        INDArray x = gaussian(random, 1, 2, 5, 4);
        INDArray epsilon = gaussian(random, 1, 2, 6, 4);
        for (INDArray mask : new INDArray[] {null, Nd4j.createFromArray(new float[][] {{1, 1, 1, 1}, {1, 0, 1, 0}})}) {
            AttentionFormula formula = new AttentionFormula(conf, mask);
            INDArray gradients = AttentionFormula.differences(params, at -> formula.recurrentOutput(at, x), epsilon)
                    .muli(ExternalErrors.factor());
            INDArray inputGradient = AttentionFormula.differences(x, at -> formula.recurrentOutput(params, at), epsilon)
                    .muli(ExternalErrors.factor());
            for (DataType type : Types.here()) {
                double bound = 3 * Agreement.rounding(type) + 1e-5;
                try (EngineSession session = new OneDnnEngine().session(1, true)) {
                    TwinLayer twin = Layers.twin(session, conf, params, type);
                    twin.setMaskArray(mask);
                    SingleLayer.Result result = SingleLayer.run(twin, x.castTo(type), epsilon.castTo(type));
                    INDArray output = formula.recurrentOutput(params, x);
                    Agreement.assertWithin(type + " output", output, result.output(), bound);
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
    void anotherNumberOfTimeStepsIsRefusedAsByDl4j() {
        RecurrentAttentionLayer conf = layer(5, 6, 2, 3, Activation.TANH, true);
        INDArray params = gaussian(new Random(1), 0.1, conf.initializer().numParams(conf));
        Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.activate(Nd4j.ones(2, 5, 4), false, NONE);
        String message = assertThrows(
                        IllegalArgumentException.class, () -> dl4j.activate(Nd4j.ones(2, 5, 3), false, NONE))
                .getMessage();
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            twin.activate(Nd4j.ones(2, 5, 4), false, NONE);
            assertEquals(
                    message,
                    assertThrows(IllegalArgumentException.class, () -> twin.activate(Nd4j.ones(2, 5, 3), false, NONE))
                            .getMessage());
        }
    }
}
