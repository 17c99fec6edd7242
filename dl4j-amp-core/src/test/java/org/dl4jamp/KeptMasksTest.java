package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.ResetPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Masks that DL4J's layers still hold when layers are exchanged, in networks with workspaces. */
class KeptMasksTest {
    private static final AmpConfig HALF =
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();

    private static MultiLayerNetwork network() {
        return Networks.init(Networks.builder(new Adam())
                .trainingWorkspaceMode(WorkspaceMode.ENABLED)
                .inferenceWorkspaceMode(WorkspaceMode.ENABLED)
                .list()
                .layer(Networks.dense(4, Activation.TANH))
                .layer(new MaskZeroLayer.Builder()
                        .setUnderlying(new LSTM.Builder().nIn(4).nOut(4).build())
                        .setMaskValue(0)
                        .build())
                .layer(new LSTM.Builder().nOut(5).build())
                .layer(new RnnOutputLayer.Builder().nOut(3).build())
                .setInputType(InputType.recurrent(4, 6))
                .build());
    }

    private static DataSet data(DataType masks) {
        INDArray features = Networks.uniform(1, 2, 4, 6);
        INDArray labels = Networks.uniform(2, 2, 3, 6);
        return new DataSet(features, labels, mask(masks), mask(masks));
    }

    private static INDArray mask(DataType type) {
        return Nd4j.createFromArray(new float[][] {{1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 0}})
                .castTo(type);
    }

    static Stream<Named<BiConsumer<MultiLayerNetwork, DataType>>> passes() {
        return Stream.of(
                Named.of("fit", (network, type) -> network.fit(data(type))),
                Named.of("score", (network, type) -> network.score(data(type))),
                Named.of("setLayerMaskArrays", (network, type) -> network.setLayerMaskArrays(mask(type), mask(type))),
                Named.of(
                        "output",
                        (network, type) -> network.output(data(type).getFeatures(), false, mask(type), mask(type))),
                Named.of(
                        "output in training",
                        (network, type) -> network.output(data(type).getFeatures(), true, mask(type), mask(type))),
                Named.of(
                        "feedForward",
                        (network, type) -> network.feedForward(data(type).getFeatures(), mask(type), mask(type))),
                Named.of("feedForwardToLayer", (network, type) -> {
                    network.setLayerMaskArrays(mask(type), mask(type));
                    network.feedForwardToLayer(2, data(type).getFeatures(), false);
                }),
                Named.of("rnnTimeStep", (network, type) -> {
                    network.setLayerMaskArrays(mask(type), mask(type));
                    network.rnnTimeStep(data(type).getFeatures());
                }),
                Named.of("activateSelectedLayers", (network, type) -> {
                    network.setInput(data(type).getFeatures());
                    network.activateSelectedLayers(0, 2, data(type).getFeatures());
                }),
                Named.of("computeGradientAndScore", (network, type) -> {
                    network.setInput(data(type).getFeatures());
                    network.setLabels(data(type).getLabels());
                    network.setLayerMaskArrays(mask(type), mask(type));
                    network.computeGradientAndScore();
                }));
    }

    @ParameterizedTest
    @MethodSource("passes")
    void layersAreExchangedAfterAnyPass(BiConsumer<MultiLayerNetwork, DataType> pass) {
        for (DataType type : List.of(DataType.FLOAT, DataType.HALF, DataType.DOUBLE)) {
            MultiLayerNetwork network = network();
            pass.accept(network, type);
            try (MixedPrecision amp = MixedPrecision.enable(network, HALF)) {
                pass.accept(network, type);
                INDArray kept = network.getLayer(0).getMaskArray();
                try (Pause pause = amp.pause()) {
                    assertEquals(kept == null, network.getLayer(0).getMaskArray() == null);
                    pass.accept(network, type);
                }
                pass.accept(network, type);
            }
            try (InferenceMode mode = MixedPrecision.inference(network, HALF.forInference())) {
                network.setLayerMaskArrays(mask(type), mask(type));
                network.output(data(type).getFeatures(), false, mask(type), mask(type));
            }
            network.clear();
            network.fit(data(DataType.FLOAT));
        }
    }

    private static INDArray ofAClosedWorkspace(DataType type, ResetPolicy reset) {
        try (MemoryWorkspace closes = Nd4j.getWorkspaceManager()
                .getAndActivateWorkspace(
                        WorkspaceConfiguration.builder()
                                .initialSize(10_000)
                                .overallocationLimit(1)
                                .policyReset(reset)
                                .build(),
                        "KeptMasksTest " + reset)) {
            return mask(type).dup();
        }
    }

    /** As those of minibatches that DL4J's asynchronous iterators prefetch in another thread. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT", "HALF", "DOUBLE"})
    void aMaskInACircularWorkspaceIsKeptWhenLayersAreExchanged(DataType type) {
        MultiLayerNetwork network = network();
        INDArray mask = ofAClosedWorkspace(type, ResetPolicy.ENDOFBUFFER_REACHED);
        assertTrue(mask.isAttached());
        network.getLayer(0).setMaskArray(mask);
        try (MixedPrecision amp = MixedPrecision.enable(network, HALF)) {
            assertEquals(
                    mask(DataType.FLOAT), network.getLayer(0).getMaskArray().castTo(DataType.FLOAT));
            try (Pause pause = amp.pause()) {
                assertEquals(
                        mask(DataType.FLOAT), network.getLayer(0).getMaskArray().castTo(DataType.FLOAT));
            }
        }
        assertEquals(mask(DataType.FLOAT), network.getLayer(0).getMaskArray().castTo(DataType.FLOAT));
    }

    /** Stock DL4J keeps such a mask, and ND4J refuses it where it's used. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT", "HALF", "DOUBLE"})
    void aMaskWhoseWorkspaceIsClosedIsDroppedWhenLayersAreExchanged(DataType type) {
        MultiLayerNetwork network = network();
        INDArray mask = ofAClosedWorkspace(type, ResetPolicy.BLOCK_LEFT);
        assertTrue(mask.isAttached());
        network.getLayer(0).setMaskArray(mask);
        try (MixedPrecision amp = MixedPrecision.enable(network, HALF)) {
            assertNull(network.getLayer(0).getMaskArray());
            try (Pause pause = amp.pause()) {
                network.getLayer(0).setMaskArray(mask);
            }
            assertNull(network.getLayer(0).getMaskArray());
        }
        network.getLayer(0).setMaskArray(mask);
        try (InferenceMode mode = MixedPrecision.inference(network, HALF.forInference())) {
            network.output(data(DataType.FLOAT).getFeatures());
        }
        network.clear();
        network.fit(data(DataType.FLOAT));
    }
}
