package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.ConvolutionCase;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.aggregator.AggregateWith;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

class ConvolutionTwinTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    @ParameterizedTest
    @CsvSource({
        // minibatch, nIn, height, width, nOut, kernel, stride, padding, dilation, mode, activation, bias
        "1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, Truncate, IDENTITY, true",
        "2, 3, 5, 4, 7, 1, 1, 1, 1, 0, 0, 1, 1, Truncate, RELU, true",
        "2, 3, 5, 4, 7, 1, 1, 1, 1, 0, 0, 1, 1, Same, TANH, false",
        "2, 3, 36, 15, 7, 1, 1, 1, 1, 0, 0, 1, 1, Truncate, RELU, true",
        "2, 8, 7, 5, 16, 1, 1, 2, 2, 0, 0, 1, 1, Truncate, RELU, true",
        "2, 8, 6, 9, 16, 1, 1, 3, 2, 0, 0, 1, 1, Truncate, TANH, false",
        "3, 2, 4, 4, 3, 1, 1, 1, 1, 0, 0, 1, 1, Strict, IDENTITY, true",
        "2, 3, 5, 4, 4, 1, 1, 2, 1, 0, 0, 1, 1, Truncate, IDENTITY, true",
        "1, 17, 6, 6, 33, 1, 1, 2, 2, 0, 0, 1, 1, Same, IDENTITY, true",
        "2, 3, 5, 4, 4, 1, 1, 1, 1, 1, 0, 1, 1, Truncate, TANH, true",
        "2, 3, 6, 7, 4, 3, 3, 1, 1, 0, 0, 1, 1, Truncate, IDENTITY, true",
        "2, 3, 6, 7, 4, 3, 3, 1, 1, 1, 1, 1, 1, Truncate, RELU, false",
        "2, 3, 6, 7, 4, 3, 2, 2, 3, 1, 0, 1, 1, Truncate, IDENTITY, true",
        "1, 2, 7, 9, 3, 3, 3, 2, 2, 0, 0, 1, 1, Strict, IDENTITY, true",
        "2, 2, 9, 8, 3, 3, 2, 1, 1, 2, 1, 2, 3, Truncate, IDENTITY, true",
        "2, 2, 7, 5, 3, 3, 3, 1, 1, 0, 0, 1, 1, Same, SOFTPLUS, true",
        "2, 2, 7, 6, 3, 2, 4, 2, 3, 0, 0, 1, 1, Same, RELU, true",
        "1, 3, 7, 6, 2, 3, 3, 1, 1, 0, 0, 2, 2, Same, SIGMOID, false"
    })
    void agreesWithDl4jsLayer(@AggregateWith(ConvolutionCase.Row.class) ConvolutionCase tried) {
        Random random = new Random(tried.minibatch() + 7L * tried.layer().getKernelSize()[0]);
        check(tried.layer(), gaussian(random, 1, tried.shape()), random);
    }

    @RepeatedTest(25)
    void agreesWithDl4jsLayerOnRandomShapes(RepetitionInfo repetition) {
        Random random = new Random(repetition.getCurrentRepetition());
        int kernel = 1 + random.nextInt(3);
        ConvolutionLayer conf = new ConvolutionLayer.Builder(kernel, 1 + random.nextInt(3))
                .stride(1 + random.nextInt(2), 1 + random.nextInt(2))
                .convolutionMode(random.nextBoolean() ? ConvolutionMode.Same : ConvolutionMode.Truncate)
                .nIn(1 + random.nextInt(40))
                .nOut(1 + random.nextInt(40))
                .activation(random.nextBoolean() ? Activation.IDENTITY : Activation.RELU)
                .build();
        long[] shape = {1 + random.nextInt(4), conf.getNIn(), 3 + random.nextInt(8), 3 + random.nextInt(8)};
        check(conf, gaussian(random, 1, shape), random);
    }

    private static void check(ConvolutionLayer conf, INDArray input, Random random) {
        INDArray params = gaussian(random, 0.5, conf.initializer().numParams(conf));
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        INDArray epsilon =
                gaussian(random, 1, dl4j.activate(input.dup(), true, NONE).shape());
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        for (DataType type : Types.here()) {
            compare(conf, params, input, epsilon, expected, type);
        }
    }

    private static void compare(
            ConvolutionLayer conf,
            INDArray params,
            INDArray input,
            INDArray epsilon,
            SingleLayer.Result expected,
            DataType type) {
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, type);
            assertInstanceOf(ConvolutionTwin.class, twin.twin().compute());
            SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
            assertEquals(type, actual.output().dataType());
            assertEquals(type, actual.inputGradient().dataType());
            Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
            // Behind other functions than these the gradient of the sums is rounded, too.
            boolean exactDelta = conf.getActivationFn() instanceof ActivationIdentity
                    || conf.getActivationFn() instanceof ActivationReLU
                    || type == DataType.FLOAT;
            if (exactDelta) {
                Agreement.assertRoundedOnce(type + " input", expected.inputGradient(), actual.inputGradient());
            } else {
                Agreement.assertWithin(
                        type + " input", expected.inputGradient(), actual.inputGradient(), 3 * Agreement.ROUNDING);
            }
            for (String parameter : expected.gradient().gradientForVariable().keySet()) {
                Agreement.assertWithin(
                        type + " " + parameter,
                        expected.gradient().getGradientFor(parameter),
                        actual.gradient().getGradientFor(parameter),
                        exactDelta ? 1e-5 : 2 * Agreement.ROUNDING);
            }
        }
    }

    @Test
    void handsOnChannelsLastArraysOfOrdinaryShape() {
        ConvolutionLayer conf = new ConvolutionLayer.Builder(3, 3)
                .nIn(2)
                .nOut(5)
                .activation(Activation.RELU)
                .build();
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            INDArray params = gaussian(new Random(1), 1, conf.initializer().numParams(conf));
            TwinLayer twin = Layers.twin(session, conf, params, Types.half());
            INDArray output = twin.activate(gaussian(new Random(2), 1, 2, 2, 6, 6), false, NONE);
            assertEquals(5, output.size(1));
            assertEquals(1, output.stride(1));
        }
    }

    @Test
    void answersABadShapeAsDl4jDoes() {
        ConvolutionLayer conf = new ConvolutionLayer.Builder(3, 3)
                .nIn(2)
                .nOut(5)
                .activation(Activation.RELU)
                .build();
        INDArray params = gaussian(new Random(1), 1, conf.initializer().numParams(conf));
        for (long[] shape : new long[][] {{2, 3, 6, 6}, {2, 12}, {2, 2, 2, 2}}) {
            INDArray input = gaussian(new Random(2), 1, shape);
            String expected = messageOf(SingleLayer.dl4j(conf, params), input);
            try (EngineSession session = new OneDnnEngine().session(1, true)) {
                String actual = messageOf(Layers.twin(session, conf, params, DataType.FLOAT), input);
                assertEquals(expected, actual);
            }
        }
    }

    private static String messageOf(org.deeplearning4j.nn.api.Layer layer, INDArray input) {
        return assertThrows(DL4JInvalidInputException.class, () -> layer.activate(input, false, NONE))
                .getMessage();
    }
}
