package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Passes;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks with layers of attention, against stock DL4J. */
class AttentionNetworksTest {
    private static final int FEATURES = 12;
    private static final int CLASSES = 3;

    private static MultiLayerNetwork network(WorkspaceMode mode, Layer... attention) {
        NeuralNetConfiguration.ListBuilder builder = new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Adam(0.005))
                .trainingWorkspaceMode(mode)
                .inferenceWorkspaceMode(mode)
                .list()
                .layer(new LSTM.Builder().nOut(16).activation(Activation.TANH).build());
        Stream.of(attention).forEach(layer -> builder.layer(layer.clone()));
        MultiLayerNetwork network = new MultiLayerNetwork(builder.layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .activation(Activation.SOFTMAX)
                        .nOut(CLASSES)
                        .build())
                .setInputType(InputType.recurrent(FEATURES))
                .build());
        network.init();
        return network;
    }

    private static MultiLayerNetwork network(WorkspaceMode mode) {
        return network(mode, projecting(), plain());
    }

    private static SelfAttentionLayer projecting() {
        return new SelfAttentionLayer.Builder()
                .nOut(16)
                .nHeads(4)
                .headSize(5)
                .projectInput(true)
                .build();
    }

    private static SelfAttentionLayer plain() {
        return Networks.plainSelfAttention(16);
    }

    private static DataSet data(Random random, int minibatch, int steps, boolean masked) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, minibatch, CLASSES, steps);
        for (int b = 0; b < minibatch; b++) {
            for (int t = 0; t < steps; t++) {
                labels.putScalar(new int[] {b, random.nextInt(CLASSES), t}, 1);
            }
        }
        INDArray mask = masked ? SelfAttentionTwinTest.mask(random, minibatch, steps) : null;
        if (mask != null) {
            mask.putScalar(0, 0, 1);
        }
        return new DataSet(gaussian(random, 1, minibatch, FEATURES, steps), labels, mask, mask);
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static List<Precision> precisions() {
        return Stream.of(Precision.FLOAT, Types.halfPrecision()).distinct().toList();
    }

    @Test
    void batchesOfManySizesWithAndWithoutMasksTrainAsInStockDl4j() {
        for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
            for (Precision precision : precisions()) {
                MultiLayerNetwork stock = network(mode);
                MultiLayerNetwork ours = network(mode);
                double bound = precision == Precision.FLOAT ? 1e-4 : 2e-2;
                Random random = new Random(8);
                try (MixedPrecision mixed = MixedPrecision.enable(ours, config(precision))) {
                    assertEquals(precision, mixed.plan().row("layer1").precision(), mixed.plan()::toString);
                    String how = mixed.plan().row("layer1").reason();
                    assertTrue(how.contains("block by block"), how);
                    for (int i = 0; i < 6; i++) {
                        DataSet data = data(random, 2 + i % 3, 7 + i, i % 2 == 1);
                        stock.fit(data);
                        ours.fit(data);
                        assertEquals(stock.score(), ours.score(), bound);
                        Agreement.assertWithin("parameters", stock.params(), ours.params(), bound);
                        INDArray expected = stock.output(data.getFeatures(), true);
                        Agreement.assertWithin(
                                "output in training", expected, ours.output(data.getFeatures(), true), bound);
                    }
                    DataSet data = data(random, 3, 9, true);
                    stock.setInput(data.getFeatures());
                    ours.setInput(data.getFeatures());
                    stock.setLabels(data.getLabels());
                    ours.setLabels(data.getLabels());
                    stock.computeGradientAndScore();
                    ours.computeGradientAndScore();
                    Agreement.assertWithin(
                            "gradients",
                            stock.gradient().gradient(),
                            ours.gradient().gradient(),
                            10 * bound);
                }
            }
        }
    }

    @Test
    void inInferenceModeOutputsAreThoseOfStockDl4j() {
        MultiLayerNetwork network = network(WorkspaceMode.ENABLED);
        Random random = new Random(8);
        for (Precision precision : precisions()) {
            for (boolean masked : new boolean[] {false, true}) {
                DataSet data = data(random, 4, 11, masked);
                INDArray mask = data.getFeaturesMaskArray();
                INDArray expected = network.output(data.getFeatures(), false, mask, mask);
                try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
                    double bound = precision == Precision.FLOAT ? 1e-5 : 1e-2;
                    for (int i = 0; i < 2; i++) {
                        INDArray actual = network.output(data.getFeatures(), false, mask, mask);
                        Agreement.assertWithin(mode.plan().toString(), expected, actual, bound);
                    }
                }
            }
        }
    }

    @Test
    void aStepMakesNoPrimitiveOfAShapeThatWasThere() {
        for (Precision precision : precisions()) {
            MultiLayerNetwork network = network(WorkspaceMode.ENABLED);
            DataSet data = data(new Random(8), 4, 11, true);
            DataSet other = data(new Random(8), 3, 12, false);
            long held = AlignedMemory.held();
            try (MixedPrecision mixed = MixedPrecision.enable(network, config(precision))) {
                network.fit(data);
                network.fit(other);
                long made = OneDnnContext.made();
                List<String> passes = Passes.of(() -> network.fit(data));
                assertTrue(passes.stream().anyMatch(pass -> pass.contains("heads of")), passes::toString);
                network.fit(other);
                assertEquals(made, OneDnnContext.made(), mixed.plan()::toString);
            }
            assertEquals(held, AlignedMemory.held(), "all is given back");
        }
    }

    @Test
    void learnedQueriesTrainWhereStockDl4jFails() {
        for (Precision precision : precisions()) {
            MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                    .seed(5)
                    .updater(new Adam(0.01))
                    .list()
                    .layer(new LearnedSelfAttentionLayer.Builder()
                            .nOut(16)
                            .nHeads(4)
                            .nQueries(3)
                            .projectInput(true)
                            .build())
                    .layer(new GlobalPoolingLayer(PoolingType.MAX))
                    .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                            .activation(Activation.SOFTMAX)
                            .nOut(2)
                            .build())
                    .setInputType(InputType.recurrent(FEATURES))
                    .build());
            network.init();
            Random random = new Random(8);
            INDArray features = gaussian(random, 1, 16, FEATURES, 10);
            INDArray labels = Nd4j.zeros(DataType.FLOAT, 16, 2);
            for (int b = 0; b < 16; b++) {
                labels.putScalar(b, features.getDouble(b, 0, 3) > 0 ? 1 : 0, 1);
            }
            DataSet data = new DataSet(features, labels);
            try (MixedPrecision mixed = MixedPrecision.enable(network, config(precision))) {
                network.fit(data);
                double first = network.score();
                for (int i = 0; i < 150; i++) {
                    network.fit(data);
                }
                assertTrue(network.score() < first / 4, () -> first + " to " + network.score() + mixed.plan());
            }
        }
    }

    /** A copy of all scores of stock DL4J takes half a gigabyte, and a step several of them. */
    @Test
    @Tag("long")
    void aSequenceOf4096StepsTrainsInLessThan200MegabytesOfActivations() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Adam(0.001))
                .list()
                .layer(new SelfAttentionLayer.Builder()
                        .nOut(512)
                        .nHeads(8)
                        .projectInput(true)
                        .build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .activation(Activation.SOFTMAX)
                        .nOut(CLASSES)
                        .build())
                .setInputType(InputType.recurrent(512))
                .build());
        network.init();
        Random random = new Random(8);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 1, CLASSES, 4096);
        for (int t = 0; t < 4096; t++) {
            labels.putScalar(new int[] {0, random.nextInt(CLASSES), t}, 1);
        }
        DataSet data = new DataSet(gaussian(random, 1, 1, 512, 4096), labels);
        for (Precision precision : precisions()) {
            long held = AlignedMemory.held();
            try (MixedPrecision mixed = MixedPrecision.enable(network, config(precision))) {
                network.fit(data);
                network.fit(data);
                long workspaces = Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread().stream()
                        .mapToLong(MemoryWorkspace::getCurrentSize)
                        .sum();
                long own = AlignedMemory.held() - held;
                assertTrue(Double.isFinite(network.score()), mixed.plan()::toString);
                assertTrue(
                        workspaces + own < 200L << 20,
                        () -> (workspaces >> 20) + " MB in workspaces and " + (own >> 20) + " MB of its own");
            }
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        }
    }
}
