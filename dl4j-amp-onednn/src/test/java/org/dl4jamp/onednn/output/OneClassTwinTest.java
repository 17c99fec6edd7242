package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.IWeightNoise;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Networks for one class, against stock DL4J in FP32, whose layer computes gradients example by example. */
class OneClassTwinTest {
    private static final int FEATURES = 6;
    private static final double FLOAT_ERROR = 1e-5;
    /** Rounding may move an output over the threshold, which counts as one example's gradient. */
    private static final double HALF_ERROR = 0.05;

    private static OCNNOutputLayer.Builder head(Activation function) {
        return new OCNNOutputLayer.Builder()
                .nu(0.3)
                .hiddenLayerSize(5)
                .windowSize(30)
                .initialRValue(0.2)
                .activation(function.getActivationFunction());
    }

    private static MultiLayerNetwork network(OCNNOutputLayer.Builder head) {
        return network(head, Activation.TANH);
    }

    private static MultiLayerNetwork network(OCNNOutputLayer.Builder head, Activation hidden) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(4)
                .updater(new Sgd(0.3))
                .list()
                .layer(Networks.dense(16, hidden))
                .layer(head.build())
                .setInputType(InputType.feedForward(FEATURES))
                .build());
    }

    private static ComputationGraph graph(OCNNOutputLayer.Builder head) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(4)
                .updater(new Sgd(0.3))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.feedForward(FEATURES))
                .addLayer("dense", Networks.dense(16, Activation.TANH), "in")
                .addLayer("out", head.build(), "dense")
                .setOutputs("out")
                .build());
    }

    private static DataSet batch(int seed, int examples) {
        return new DataSet(gaussian(new Random(seed), 1, examples, FEATURES), Nd4j.ones(examples, 1));
    }

    private static AmpConfig config(Precision precision, LossScaler scaler) {
        AmpConfig.Builder builder =
                AmpConfig.builder().engine(OneDnnEngine.NAME).precision(precision);
        return scaler == null ? builder.build() : builder.lossScaler(scaler).build();
    }

    private static double tolerance(Precision precision) {
        return precision == Precision.FLOAT ? FLOAT_ERROR : HALF_ERROR;
    }

    private static void assertComputes(MixedPrecision amp) {
        PrecisionPlan.Row row = amp.plan().rows().get(1);
        assertEquals(OneDnnEngine.NAME, row.engine(), row.toString());
        assertEquals(Precision.FLOAT, row.precision(), row.toString());
    }

    /** In the second epoch the threshold is a quantile of the first one's outputs. */
    @ParameterizedTest
    @EnumSource(names = {"IDENTITY", "SIGMOID", "RELU", "TANH", "SOFTMAX", "ELU", "CUBE"})
    void trainsScoresAndInfersAsStockDl4jDoesForSeveralEpochs(Activation function) {
        List<DataSet> batches = List.of(batch(1, 8), batch(2, 12), batch(3, 1), batch(4, 16));
        for (Precision precision : Types.precisions()) {
            double error = tolerance(precision);
            MultiLayerNetwork stock = network(head(function));
            MultiLayerNetwork network = network(head(function));
            INDArray features = batch(9, 5).getFeatures();
            try (MixedPrecision amp = MixedPrecision.enable(network, config(precision, null))) {
                assertComputes(amp);
                for (int epoch = 0; epoch < 3; epoch++) {
                    for (DataSet batch : batches) {
                        stock.fit(batch);
                        network.fit(batch);
                        assertEquals(stock.score(), network.score(), error * Math.abs(stock.score()) + error);
                    }
                    stock.incrementEpochCount();
                    network.incrementEpochCount();
                }
                Agreement.assertWithin(precision + " parameters", stock.params(), network.params(), error);
                Agreement.assertWithin(precision + " output", stock.output(features), network.output(features), error);
                double score = stock.score(batches.get(0));
                assertEquals(score, network.score(batches.get(0)), error * Math.abs(score) + error);
            }
            try (InferenceMode mode = MixedPrecision.inference(network, config(precision, null))) {
                Agreement.assertWithin(precision + " output", stock.output(features), network.output(features), error);
            }
        }
    }

    @Test
    void returnsTheGradientsOfStockDl4j() {
        MultiLayerNetwork stock = network(head(Activation.SIGMOID));
        MultiLayerNetwork network = network(head(Activation.SIGMOID));
        DataSet batch = batch(1, 8);
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT, null))) {
            INDArray expected = gradient(stock, batch);
            Agreement.assertWithin("gradient", expected, gradient(network, batch), FLOAT_ERROR);
        }
    }

    private static INDArray gradient(MultiLayerNetwork network, DataSet batch) {
        network.setInput(batch.getFeatures());
        network.setLabels(batch.getLabels());
        network.computeGradientAndScore();
        return network.gradient().gradient().dup();
    }

    @Test
    void trainsAsTheEndOfAGraph() {
        ComputationGraph stock = graph(head(Activation.SIGMOID));
        ComputationGraph graph = graph(head(Activation.SIGMOID));
        try (MixedPrecision amp = MixedPrecision.enable(graph, config(Precision.FLOAT, null))) {
            assertComputes(amp);
            for (int step = 0; step < 3; step++) {
                stock.fit(batch(step, 8));
                graph.fit(batch(step, 8));
                assertEquals(stock.score(), graph.score(), FLOAT_ERROR);
            }
            Agreement.assertWithin("parameters", stock.params(), graph.params(), FLOAT_ERROR);
        }
    }

    /** DL4J's own layer goes on with the outputs that the engine has kept, and the other way round. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5})
    void isClosedAndEnabledInTheMiddleOfAnEpoch(int steps) {
        MultiLayerNetwork stock = network(head(Activation.SIGMOID));
        MultiLayerNetwork network = network(head(Activation.SIGMOID));
        for (int part = 0; part < 4; part++) {
            MixedPrecision amp = part % 2 == 0 ? null : MixedPrecision.enable(network, config(Precision.FLOAT, null));
            for (int step = 0; step < steps; step++) {
                DataSet batch = batch(10 * part + step, 7);
                stock.fit(batch);
                network.fit(batch);
                if (part + step == 3) {
                    stock.incrementEpochCount();
                    network.incrementEpochCount();
                }
            }
            if (amp != null) {
                amp.close();
            }
        }
        Agreement.assertWithin("parameters", stock.params(), network.params(), FLOAT_ERROR);
    }

    @Test
    void scaledGradientsAreThoseOfStockDl4jAndSkippedStepsChangeNothing() {
        MultiLayerNetwork stock = network(head(Activation.SIGMOID));
        MultiLayerNetwork network = network(head(Activation.SIGMOID));
        double error = tolerance(Types.halfPrecision());
        AmpConfig scaled = config(Types.halfPrecision(), new StaticLossScaler(1024));
        try (MixedPrecision amp = MixedPrecision.enable(network, scaled)) {
            stock.fit(batch(1, 8));
            network.fit(batch(1, 8));
            INDArray before = network.params().dup();
            DataSet broken = batch(2, 8);
            broken.getFeatures().putScalar(1, Double.NaN);
            network.fit(broken);
            assertEquals(before, network.params());
            assertEquals(1, amp.stepsSkipped());
            stock.incrementEpochCount();
            network.incrementEpochCount();
            for (int step = 0; step < 3; step++) {
                stock.fit(batch(step, 8));
                network.fit(batch(step, 8));
            }
            Agreement.assertWithin("parameters", stock.params(), network.params(), error);
        }
    }

    /** The scale is the largest in FP32, and the features multiply gradients by more. */
    @Test
    void anOverflowOfTheScaledGradientChangesNothing() {
        assumeTrue(Types.halfPrecision().isHalf(), "FP32 isn't scaled");
        MultiLayerNetwork network = network(head(Activation.SIGMOID).initialRValue(5), Activation.IDENTITY);
        MultiLayerNetwork stock = network(head(Activation.SIGMOID).initialRValue(5), Activation.IDENTITY);
        LossScaler scaler = DynamicLossScaler.builder()
                .initialScale(0x1p127)
                .maxScale(0x1p127)
                .build();
        AmpConfig config =
                config(Types.halfPrecision(), scaler).toBuilder().scaleSearch(0).build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            INDArray before = network.params().dup();
            DataSet batch = batch(1, 8);
            batch.getFeatures().muli(20);
            while (amp.stepsTaken() == 0) {
                assertEquals(before, network.params());
                network.fit(batch);
            }
            stock.fit(batch);
            assertTrue(amp.stepsSkipped() > 0);
            Agreement.assertWithin("parameters", stock.params(), network.params(), HALF_ERROR);
        }
    }

    /** DL4J draws noise for the output and again for the score, and none for the gradients of the parameters. */
    @Test
    void drawsTheWeightNoiseOfStockDl4j() {
        IWeightNoise noise = new DropConnect(0.7);
        MultiLayerNetwork stock = network(head(Activation.SIGMOID).weightNoise(noise));
        MultiLayerNetwork network = network(head(Activation.SIGMOID).weightNoise(noise));
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT, null))) {
            assertComputes(amp);
            for (int step = 0; step < 3; step++) {
                Nd4j.getRandom().setSeed(step + 1);
                stock.fit(batch(step, 8));
                Nd4j.getRandom().setSeed(step + 1);
                network.fit(batch(step, 8));
                assertEquals(stock.score(), network.score(), FLOAT_ERROR);
            }
            Agreement.assertWithin("parameters", stock.params(), network.params(), FLOAT_ERROR);
        }
    }

    @Test
    void drawsTheRandomSlopesOfStockDl4j() {
        MultiLayerNetwork stock = network(head(Activation.RRELU));
        MultiLayerNetwork network = network(head(Activation.RRELU));
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT, null))) {
            for (int step = 0; step < 3; step++) {
                Nd4j.getRandom().setSeed(step + 1);
                stock.fit(batch(step, 8));
                Nd4j.getRandom().setSeed(step + 1);
                network.fit(batch(step, 8));
                assertEquals(stock.score(), network.score(), FLOAT_ERROR);
            }
            Agreement.assertWithin("parameters", stock.params(), network.params(), FLOAT_ERROR);
        }
    }

    @Test
    void throwsWhatStockDl4jThrows() {
        MultiLayerNetwork stock = network(head(Activation.SIGMOID).windowSize(5));
        MultiLayerNetwork network = network(head(Activation.SIGMOID).windowSize(5));
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT, null))) {
            for (MultiLayerNetwork each : List.of(stock, network)) {
                each.fit(batch(1, 8));
                each.incrementEpochCount();
                each.fit(batch(1, 8));
            }
            // The batch is larger than the window.
            assertThrowEqually(() -> stock.fit(batch(1, 8)), () -> network.fit(batch(1, 8)));
            assertThrowEqually(
                    () -> stock.scoreExamples(batch(1, 8), false), () -> network.scoreExamples(batch(1, 8), false));
            INDArray narrow = gaussian(new Random(1), 1, 8, FEATURES - 1);
            assertThrowEqually(() -> stock.output(narrow), () -> network.output(narrow));
            INDArray sequences = gaussian(new Random(1), 1, 8, 16, 3);
            LayerWorkspaceMgr none = LayerWorkspaceMgr.noWorkspaces();
            assertThrowEqually(() -> stock.getLayer(1).activate(sequences, false, none), () -> network.getLayer(1)
                    .activate(sequences, false, none));
        }
    }

    private static void assertThrowEqually(Executable stock, Executable own) {
        RuntimeException expected = assertThrows(RuntimeException.class, stock);
        RuntimeException actual = assertThrows(RuntimeException.class, own);
        assertEquals(expected.getClass(), actual.getClass(), expected + " and " + actual);
    }

    @Test
    void leavesDropoutOfItsInputToDl4j() {
        MultiLayerNetwork network = network(head(Activation.SIGMOID).dropOut(0.5));
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT, null))) {
            PrecisionPlan.Row row = amp.plan().rows().get(1);
            assertTrue(row.reason().contains("dropout"), row.toString());
        }
    }
}
