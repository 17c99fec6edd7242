package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * Batch normalization that runs backward after a forward pass in inference mode: frozen with backprop, as in GANs, and below the gradient of an
 * input, as in saliency maps. With workspaces plain DL4J fails at it; without them it's what to compare with.
 */
class FrozenBatchNormTest {
    private static final AmpConfig CONFIG = AmpConfig.builder()
            .precision(Precision.HALF)
            .engine("nd4j")
            .lossScaler(new StaticLossScaler(16))
            .build();
    private static final DataSet VECTORS = Networks.vectors(16, 20, 3);

    private static MultiLayerNetwork network(WorkspaceMode workspaces, Layer batchNormalization, Layer last) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(0.02))
                .trainingWorkspaceMode(workspaces)
                .inferenceWorkspaceMode(workspaces)
                .list()
                .layer(Networks.dense(24, Activation.TANH))
                .layer(batchNormalization)
                .layer(Networks.dense(12, Activation.TANH))
                .layer(last)
                .setInputType(InputType.feedForward(20))
                .build());
        // Running statistics that aren't those of the minibatch.
        for (String statistic : List.of("1_mean", "1_log10stdev")) {
            INDArray values = network.getParam(statistic);
            Random random = new Random(5);
            for (long i = 0; i < values.length(); i++) {
                values.putScalar(i, 0.2 * random.nextGaussian());
            }
        }
        return network;
    }

    @ParameterizedTest
    @EnumSource(WorkspaceMode.class)
    void aFrozenOneTrainsWhatIsBelowItAsDl4jDoesWithoutWorkspaces(WorkspaceMode workspaces) {
        Layer frozen = new FrozenLayerWithBackprop(new BatchNormalization.Builder().build());
        MultiLayerNetwork fp32 = network(WorkspaceMode.NONE, frozen, Networks.softmax(3));
        MultiLayerNetwork mixed = network(workspaces, frozen, Networks.softmax(3));
        INDArray before = fp32.params().dup();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, CONFIG)) {
            for (int step = 0; step < 20; step++) {
                fp32.fit(VECTORS);
                mixed.fit(VECTORS);
            }
            assertEquals(20, amp.stepsTaken());
        }
        INDArray expected = fp32.params().sub(before);
        INDArray actual = mixed.params().sub(before);
        double error = expected.sub(actual).norm2Number().doubleValue()
                / expected.norm2Number().doubleValue();
        assertTrue(error < 0.01, () -> "parameters moved elsewhere by " + error);
        for (String parameter : List.of("1_gamma", "1_beta", "1_mean", "1_log10stdev")) {
            assertEquals(fp32.getParam(parameter), mixed.getParam(parameter), parameter);
        }
    }

    @ParameterizedTest
    @CsvSource({"NONE, true", "NONE, false", "ENABLED, true", "ENABLED, false"})
    void theGradientOfAnInputInInferenceIsDl4js(WorkspaceMode workspaces, boolean locked) {
        Layer layer = new BatchNormalization.Builder()
                .lockGammaBeta(locked)
                .gamma(1.5)
                .beta(0.2)
                .build();
        MultiLayerNetwork fp32 = network(WorkspaceMode.NONE, layer, Networks.dense(3, Activation.TANH));
        MultiLayerNetwork mixed = network(workspaces, layer, Networks.dense(3, Activation.TANH));
        Pair<Gradient, INDArray> expected = inputGradient(fp32);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, CONFIG)) {
            Pair<Gradient, INDArray> actual = inputGradient(mixed);
            Comparison.assertClose(expected.getSecond(), actual.getSecond(), 0.01, "gradient of the input");
            for (String parameter : List.of("0_W", "0_b", "1_mean", "1_log10stdev", "2_W")) {
                Comparison.assertClose(
                        expected.getFirst().getGradientFor(parameter),
                        actual.getFirst().getGradientFor(parameter),
                        0.01,
                        parameter);
            }
        }
    }

    /** Of a network without output layer, whose errors come from outside. */
    private static Pair<Gradient, INDArray> inputGradient(MultiLayerNetwork network) {
        INDArray epsilon = Nd4j.create(DataType.FLOAT, 16, 3);
        Random random = new Random(9);
        for (long i = 0; i < epsilon.length(); i++) {
            epsilon.putScalar(i, random.nextGaussian());
        }
        network.setInput(VECTORS.getFeatures());
        network.feedForward(false, false);
        return network.backpropGradient(epsilon, LayerWorkspaceMgr.noWorkspaces());
    }
}
