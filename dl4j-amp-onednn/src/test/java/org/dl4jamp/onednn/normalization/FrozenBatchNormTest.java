package org.dl4jamp.onednn.normalization;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Precision;
import org.dl4jamp.onednn.Agreement;
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
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Batch normalization that runs backward after a forward pass in inference mode: frozen with backprop, as in GANs, and below the gradient of an
 * input, as in saliency maps. With workspaces plain DL4J fails at it; without them it's what to compare with.
 */
class FrozenBatchNormTest {
    private static final AmpConfig CONFIG =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
    private static final DataSet VECTORS = vectors();

    private static DataSet vectors() {
        INDArray labels = Nd4j.create(DataType.FLOAT, 16, 3);
        for (int i = 0; i < 16; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        return new DataSet(gaussian(new Random(3), 1, 16, 20), labels);
    }

    private static Layer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(3)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static Layer dense(int out) {
        return new DenseLayer.Builder().nOut(out).activation(Activation.TANH).build();
    }

    private static MultiLayerNetwork network(WorkspaceMode workspaces, Layer batchNormalization, Layer last) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Sgd(0.02))
                .trainingWorkspaceMode(workspaces)
                .inferenceWorkspaceMode(workspaces)
                .list()
                .layer(dense(24))
                .layer(batchNormalization)
                .layer(dense(12))
                .layer(last)
                .setInputType(InputType.feedForward(20))
                .build());
        network.init();
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
        MultiLayerNetwork fp32 = network(WorkspaceMode.NONE, frozen, softmax());
        MultiLayerNetwork mixed = network(workspaces, frozen, softmax());
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
        assertTrue(error < 1e-5, () -> "parameters moved elsewhere by " + error);
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
        MultiLayerNetwork fp32 = network(WorkspaceMode.NONE, layer, dense(3));
        MultiLayerNetwork mixed = network(workspaces, layer, dense(3));
        Pair<Gradient, INDArray> expected = inputGradient(fp32);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, CONFIG)) {
            Pair<Gradient, INDArray> actual = inputGradient(mixed);
            Agreement.assertWithin("gradient of the input", expected.getSecond(), actual.getSecond(), 1e-5);
            for (String parameter : List.of("0_W", "0_b", "1_mean", "1_log10stdev", "2_W")) {
                Agreement.assertWithin(
                        parameter,
                        expected.getFirst().getGradientFor(parameter),
                        actual.getFirst().getGradientFor(parameter),
                        1e-5);
            }
        }
    }

    /** Of a network without output layer, whose errors come from outside. */
    private static Pair<Gradient, INDArray> inputGradient(MultiLayerNetwork network) {
        network.setInput(VECTORS.getFeatures());
        network.feedForward(false, false);
        return network.backpropGradient(gaussian(new Random(9), 1, 16, 3), LayerWorkspaceMgr.noWorkspaces());
    }
}
