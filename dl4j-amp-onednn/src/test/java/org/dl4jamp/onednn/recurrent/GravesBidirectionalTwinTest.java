package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class GravesBidirectionalTwinTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final double FLOAT_ERROR = 1e-5;

    private static GravesBidirectionalLSTM layer(int nIn, int units, RNNFormat format, Activation gate) {
        return new GravesBidirectionalLSTM.Builder()
                .nIn(nIn)
                .nOut(units)
                .dataFormat(format)
                .activation(Activation.TANH)
                .gateActivationFunction(gate)
                .build();
    }

    private static INDArray params(Random random, GravesBidirectionalLSTM conf) {
        return gaussian(random, 0.3, conf.initializer().numParams(conf));
    }

    /** Its layer in front may have dealt with the mask: it masks nevertheless. */
    private static void mask(Layer layer, INDArray mask, int minibatch) {
        assertEquals(
                MaskState.Active,
                layer.feedForwardMaskArray(mask, MaskState.Passthrough, minibatch)
                        .getSecond());
    }

    @Property(tries = 30)
    void inFp32ItAgreesWithDl4jsLayer(
            @ForAll long seed,
            @ForAll boolean nwc,
            @ForAll boolean masked,
            @ForAll boolean hardGates,
            @ForAll @IntRange(min = 1, max = 20) int nIn,
            @ForAll @IntRange(min = 1, max = 20) int units,
            @ForAll @IntRange(min = 1, max = 4) int minibatch,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        Random random = new Random(seed);
        GravesBidirectionalLSTM conf = layer(
                nIn,
                units,
                nwc ? RNNFormat.NWC : RNNFormat.NCW,
                hardGates ? Activation.HARDSIGMOID : Activation.SIGMOID);
        INDArray params = params(random, conf);
        INDArray input = nwc ? gaussian(random, 1, minibatch, steps, nIn) : gaussian(random, 1, minibatch, nIn, steps);
        INDArray epsilon =
                nwc ? gaussian(random, 1, minibatch, steps, units) : gaussian(random, 1, minibatch, units, steps);
        INDArray mask = masked ? Nd4j.ones(DataType.FLOAT, minibatch, steps) : null;
        if (masked) {
            mask.putScalar(0, random.nextInt(steps), 0);
        }
        Layer dl4j = SingleLayer.dl4j(conf, params);
        mask(dl4j, mask, minibatch);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            assertInstanceOf(GravesBidirectionalTwin.class, twin.twin().compute());
            mask(twin, mask, minibatch);
            SingleLayer.Result actual = SingleLayer.run(twin, input, epsilon);
            Agreement.assertWithin("output", expected.output(), actual.output(), FLOAT_ERROR);
            Agreement.assertWithin("input gradient", expected.inputGradient(), actual.inputGradient(), FLOAT_ERROR);
            assertEquals(
                    expected.gradient().gradientForVariable().keySet(),
                    actual.gradient().gradientForVariable().keySet());
            Agreement.assertWithin("gradient", gradients(dl4j), gradients(twin), FLOAT_ERROR);
            expected.gradient()
                    .gradientForVariable()
                    .forEach((name, array) -> assertEquals(
                            0,
                            actual.gradient(name).distance2(array),
                            FLOAT_ERROR * gradients(dl4j).norm2Number().doubleValue(),
                            name));
        }
    }

    private static INDArray gradients(Layer layer) {
        return layer.getGradientsViewArray().reshape(layer.numParams());
    }

    @Property(tries = 15)
    void inBfloat16ItIsAsCloseToDl4jsLayerAsRoundingMakesIt(
            @ForAll long seed,
            @ForAll boolean masked,
            @ForAll @IntRange(min = 8, max = 20) int nIn,
            @ForAll @IntRange(min = 8, max = 20) int units,
            @ForAll @IntRange(min = 2, max = 4) int minibatch,
            @ForAll @IntRange(min = 2, max = 6) int steps) {
        DataType type = Types.half();
        Random random = new Random(seed);
        GravesBidirectionalLSTM conf = layer(nIn, units, RNNFormat.NCW, Activation.SIGMOID);
        INDArray params = params(random, conf);
        INDArray input = gaussian(random, 1, minibatch, nIn, steps);
        INDArray epsilon = gaussian(random, 1, minibatch, units, steps);
        INDArray mask = masked ? Nd4j.ones(DataType.FLOAT, minibatch, steps) : null;
        if (masked) {
            mask.putScalar(0, random.nextInt(steps), 0);
        }
        Layer dl4j = SingleLayer.dl4j(conf, params);
        mask(dl4j, mask, minibatch);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, type);
            mask(twin, mask, minibatch);
            SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
            double bound = 3 * Agreement.rounding(type) + FLOAT_ERROR;
            Agreement.assertWithin("output", expected.output(), actual.output(), bound);
            Agreement.assertWithin("input gradient", expected.inputGradient(), actual.inputGradient(), bound);
            Agreement.assertWithin("gradient", gradients(dl4j), gradients(twin), bound);
        }
    }

    @Test
    void refusesToGoStepByStepInDl4jsWords() {
        GravesBidirectionalLSTM conf = layer(3, 2, RNNFormat.NCW, Activation.SIGMOID);
        INDArray params = params(new Random(1), conf);
        INDArray input = gaussian(new Random(2), 1, 2, 3, 4);
        INDArray epsilon = gaussian(new Random(3), 1, 2, 2, 4);
        RecurrentLayer dl4j = (RecurrentLayer) SingleLayer.dl4j(conf, params);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            RecurrentLayer twin = (RecurrentLayer)
                    Layers.twin(session, conf, params, DataType.FLOAT).twin().compute();
            assertSameRefusal(() -> dl4j.rnnTimeStep(input, NONE), () -> twin.rnnTimeStep(input, NONE));
            assertSameRefusal(
                    () -> dl4j.rnnActivateUsingStoredState(input, true, true, NONE),
                    () -> twin.rnnActivateUsingStoredState(input, true, true, NONE));
            dl4j.setInput(input, NONE);
            twin.setInput(input, NONE);
            assertSameRefusal(
                    () -> dl4j.tbpttBackpropGradient(epsilon, 2, NONE),
                    () -> twin.tbpttBackpropGradient(epsilon, 2, NONE));
            assertEquals(dl4j.rnnGetPreviousState(), twin.rnnGetPreviousState());
        }
    }

    private static void assertSameRefusal(Executable dl4j, Executable twin) {
        assertEquals(
                assertThrows(UnsupportedOperationException.class, dl4j).getMessage(),
                assertThrows(UnsupportedOperationException.class, twin).getMessage());
    }
}
