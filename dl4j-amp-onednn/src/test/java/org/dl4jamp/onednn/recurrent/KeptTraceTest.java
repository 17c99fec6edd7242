package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.activation.UsersFunctions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The trace that a recurrent layer keeps from its forward pass for the backward pass. */
class KeptTraceTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final int SIZE = 5;
    private static final int UNITS = 4;
    private static final INDArray MASK =
            Nd4j.createFromArray(new float[][] {{1, 1, 0, 1, 0}, {1, 0, 1, 1, 1}, {0, 1, 1, 1, 1}});
    private static final INDArray OTHER =
            Nd4j.createFromArray(new float[][] {{1, 1, 1, 0, 1}, {1, 1, 0, 1, 0}, {1, 1, 1, 1, 0}});

    private enum Kind {
        LSTM,
        GRAVES_LSTM,
        SIMPLE_RNN,
        GRAVES_BIDIRECTIONAL;

        Layer layer(IActivation activation) {
            IActivation gate = Activation.SIGMOID.getActivationFunction();
            return switch (this) {
                case LSTM -> Cell.LSTM.layer(SIZE, UNITS, RNNFormat.NCW, activation, gate);
                case GRAVES_LSTM -> Cell.GRAVES_LSTM.layer(SIZE, UNITS, RNNFormat.NCW, activation, gate);
                case SIMPLE_RNN -> Cell.SIMPLE_RNN.layer(SIZE, UNITS, RNNFormat.NCW, activation, gate);
                case GRAVES_BIDIRECTIONAL ->
                    new GravesBidirectionalLSTM.Builder()
                            .nIn(SIZE)
                            .nOut(UNITS)
                            .activation(activation)
                            .gateActivationFunction(gate)
                            .build();
            };
        }
    }

    /** Masks of the forward and of the backward pass; null for none. */
    private record Masks(Kind kind, String name, INDArray forward, INDArray backward) {
        @Override
        public String toString() {
            return kind + ", " + name;
        }
    }

    private static Stream<Masks> otherMasks() {
        return Arrays.stream(Kind.values())
                .flatMap(kind -> Stream.of(
                        new Masks(kind, "another mask", MASK, OTHER),
                        new Masks(kind, "a mask for none", null, OTHER),
                        new Masks(kind, "no mask any more", MASK, null)));
    }

    private static Stream<Masks> sameMasks() {
        return Arrays.stream(Kind.values())
                .flatMap(kind ->
                        Stream.of(new Masks(kind, "the mask", MASK, MASK), new Masks(kind, "no mask", null, null)));
    }

    private static INDArray params(Layer conf) {
        return gaussian(new Random(1), 0.3, conf.initializer().numParams(conf));
    }

    private static INDArray input() {
        return gaussian(new Random(2), 1, MASK.size(0), SIZE, MASK.size(1));
    }

    private static INDArray epsilon() {
        return gaussian(new Random(3), 1, MASK.size(0), UNITS, MASK.size(1));
    }

    /** Returns the gradient of the input. */
    private static INDArray run(org.deeplearning4j.nn.api.Layer layer, Masks masks, DataType type) {
        layer.setMaskArray(masks.forward());
        INDArray input = input().castTo(type);
        layer.activate(input, true, NONE);
        layer.setMaskArray(masks.backward());
        layer.setInput(input, NONE);
        return layer.backpropGradient(epsilon().castTo(type), NONE).getSecond();
    }

    private static INDArray gradients(org.deeplearning4j.nn.api.Layer layer) {
        return layer.getGradientsViewArray().reshape(layer.numParams());
    }

    /** DL4J's layers run forward again in the backward pass, with the mask that they have then. */
    @ParameterizedTest
    @MethodSource("otherMasks")
    void isNotUsedWithAnotherMaskThanThatOfTheForwardPass(Masks masks) {
        Layer conf = masks.kind().layer(Activation.TANH.getActivationFunction());
        INDArray params = params(conf);
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        INDArray expected = run(dl4j, masks, DataType.FLOAT);
        for (DataType type : new DataType[] {DataType.FLOAT, Types.half()}) {
            double bound = type == DataType.FLOAT ? 1e-5 : 2 * Agreement.rounding(type);
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                INDArray actual = run(twin, masks, type);
                Agreement.assertWithin("input gradient in " + type, expected, actual, bound);
                Agreement.assertWithin("gradient in " + type, gradients(dl4j), gradients(twin), bound);
            }
        }
    }

    /** A function that fails tells whether the layer runs forward again. */
    @ParameterizedTest
    @MethodSource("sameMasks")
    void isUsedWithTheMaskOfTheForwardPass(Masks masks) {
        UsersFunctions.Failing function = new UsersFunctions.Failing();
        Layer conf = masks.kind().layer(function);
        INDArray params = params(conf);
        for (DataType type : new DataType[] {DataType.FLOAT, Types.half()}) {
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                twin.setMaskArray(masks.forward());
                INDArray input = input().castTo(type);
                INDArray epsilon = epsilon().castTo(type);
                twin.activate(input, true, NONE);
                function.fail(true, false);
                assertDoesNotThrow(() -> twin.backpropGradient(epsilon, NONE));
                assertEquals(
                        "forward",
                        assertThrows(ArithmeticException.class, () -> twin.backpropGradient(epsilon, NONE))
                                .getMessage());
                function.fail(false, false);
            }
        }
    }
}
