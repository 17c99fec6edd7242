package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.stream.Stream;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Row numbers of an embedding that FLOAT hasn't: between 2^24 and 2^25 it has the even ones only. */
class LargeIndicesTest {
    private static final int FIRST_WITHOUT = (1 << 24) + 1;
    private static final int ROWS = FIRST_WITHOUT + 2;
    private static final int[] INDICES = {FIRST_WITHOUT, 3, FIRST_WITHOUT + 1, FIRST_WITHOUT - 1};
    private static final float[] VALUES = {7, 1, 4, 2};

    private static MultiLayerNetwork network;

    @BeforeAll
    static void makeTheTable() {
        network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .updater(new Sgd(1))
                .trainingWorkspaceMode(WorkspaceMode.NONE)
                .inferenceWorkspaceMode(WorkspaceMode.NONE)
                .list()
                .layer(new EmbeddingLayer.Builder()
                        .nIn(ROWS)
                        .nOut(1)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nIn(1)
                        .nOut(1)
                        .hasBias(false)
                        .activation(Activation.IDENTITY)
                        .build())
                .build());
        network.init();
        network.params().assign(0);
        for (int i = 0; i < INDICES.length; i++) {
            network.getLayer(0).getParam("W").putScalar(INDICES[i], 0, VALUES[i]);
        }
        network.getLayer(1).getParam("W").assign(1);
    }

    private static INDArray column(DataType type) {
        return Nd4j.createFromArray(INDICES).castTo(type).reshape(INDICES.length, 1);
    }

    private static AmpConfig config(String engine, Precision precision) {
        return AmpConfig.builder().engine(engine).precision(precision).build();
    }

    static Stream<Arguments> cases() {
        return Stream.of(DataType.INT, DataType.LONG)
                .flatMap(type -> Stream.of(
                        Arguments.of(type, "onednn", Precision.FLOAT), Arguments.of(type, "nd4j", Precision.HALF)));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void areThoseOfTheirRows(DataType type, String engine, Precision precision) {
        try (MixedPrecision amp = MixedPrecision.enable(network, config(engine, precision))) {
            assertArrayEquals(VALUES, network.output(column(type)).toFloatVector());
        }
        try (InferenceMode mode = MixedPrecision.inference(network, config(engine, precision))) {
            assertArrayEquals(VALUES, network.output(column(type)).toFloatVector());
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void areTrained(DataType type, String engine, Precision precision) {
        INDArray before = network.params().dup();
        INDArray labels =
                Nd4j.createFromArray(VALUES).reshape(INDICES.length, 1).add(4);
        try (MixedPrecision amp = MixedPrecision.enable(network, config("onednn", Precision.FLOAT))) {
            network.fit(new DataSet(column(type), labels));
            for (int i = 0; i < INDICES.length; i++) {
                // The gradient of each of the four squares is -8, divided by the minibatch.
                assertEquals(VALUES[i] + 2, network.getLayer(0).getParam("W").getFloat(INDICES[i], 0), 1e-4);
            }
            assertEquals(0, network.getLayer(0).getParam("W").getFloat(5, 0));
        } finally {
            network.params().assign(before);
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void beyondTheTableAreRefused(DataType type, String engine, Precision precision) {
        INDArray beyond = Nd4j.createFromArray(ROWS).castTo(type).reshape(1, 1);
        try (MixedPrecision amp = MixedPrecision.enable(network, config(engine, precision))) {
            assertThrows(DL4JInvalidInputException.class, () -> network.output(beyond));
        }
    }
}
