package org.dl4jamp.onednn.capsule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.StockTraining;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks of capsules as a whole, beside stock DL4J's. */
class CapsuleNetworksTest {
    private static final InputType IMAGES = InputType.convolutional(8, 8, 3);

    private static Layer[] layers() {
        return new Layer[] {
            Networks.convolution(3, 6),
            new PrimaryCapsules.Builder(4, 2, new int[] {3, 3}, new int[] {2, 2})
                    .useLeakyReLU(0.1)
                    .build(),
            new CapsuleLayer.Builder(3, 5).hasBias(true).build(),
            new CapsuleStrengthLayer.Builder().build(),
            new ActivationLayer(Activation.SOFTMAX),
            new LossLayer.Builder(LossFunction.MCXENT)
                    .activation(Activation.IDENTITY)
                    .build()
        };
    }

    private static MultiLayerNetwork network() {
        return Networks.init(Networks.builder(new Sgd(0.05))
                .list(layers())
                .setInputType(IMAGES)
                .build());
    }

    private static ComputationGraph graph() {
        var builder =
                Networks.builder(new Sgd(0.05)).graphBuilder().addInputs("in").setInputTypes(IMAGES);
        String before = "in";
        for (Layer layer : layers()) {
            String name = layer.getClass().getSimpleName();
            builder.addLayer(name, layer, before);
            before = name;
        }
        return Networks.init(builder.setOutputs(before).build());
    }

    private static AmpConfig.Builder config(Precision precision) {
        return AmpConfig.builder().engine(OneDnnEngine.NAME).precision(precision);
    }

    private static double bound(Precision precision) {
        return precision == Precision.FLOAT ? 1e-5 : 0.03;
    }

    @Test
    void networksTrainAndComputeAsInStockDl4j() {
        StockTraining.assertAgrees(network(), CNN2DFormat.NCHW, 0);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void graphsTrainWithAScaleSkipStepsAndInferAsInStockDl4j(Precision precision) {
        ComputationGraph stock = graph();
        ComputationGraph ours = graph();
        INDArray begin = stock.params().dup();
        DataSet data = Networks.images(6, 3, 8, 3);
        DataSet broken = data.copy();
        broken.getFeatures().putScalar(1, Double.NaN);
        AmpConfig config = config(precision)
                .lower(PrimaryCapsules.class)
                .lossScaler(new StaticLossScaler(1024))
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(ours, config)) {
            assertEquals(precision, amp.plan().row("PrimaryCapsules").precision());
            amp.plan().rows().forEach(row -> assertEquals(OneDnnEngine.NAME, row.engine(), row::toString));
            for (int step = 0; step < 2; step++) {
                stock.fit(data);
                ours.fit(data);
                INDArray before = ours.params().dup();
                ours.fit(broken);
                assertEquals(before, ours.params());
            }
            assertEquals(2, amp.stepsSkipped());
        }
        Agreement.assertWithin(
                "change", stock.params().sub(begin), ours.params().sub(begin), 4 * bound(precision));
        INDArray expected = ours.outputSingle(data.getFeatures());
        try (InferenceMode mode = MixedPrecision.inference(ours, config.forInference())) {
            Agreement.assertWithin("inferred", expected, ours.outputSingle(data.getFeatures()), bound(precision));
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aNetworkOfCapsulesLearns(Precision precision) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Adam(1e-2))
                .list(layers())
                .setInputType(IMAGES)
                .build());
        DataSet data = Networks.images(12, 3, 8, 3);
        try (MixedPrecision amp =
                MixedPrecision.enable(network, config(precision).build())) {
            network.fit(data);
            double first = network.score();
            for (int step = 0; step < 15; step++) {
                network.fit(data);
            }
            assertTrue(network.score() < 0.9 * first, () -> first + " became " + network.score());
            assertEquals(0, amp.stepsSkipped());
        }
    }
}
