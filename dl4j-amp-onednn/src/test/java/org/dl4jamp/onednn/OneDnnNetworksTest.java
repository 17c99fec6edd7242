package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Whole networks on this engine. */
class OneDnnNetworksTest {
    /**
     * Convolutions before batch normalization have no bias: its gradient would be zero but for rounding. Adam would
     * make whole steps of that, and the loss with running averages would wander even in FP32.
     */
    private static MultiLayerConfiguration sine() {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Adam(3e-3))
                .list();
        for (int i = 0; i < 2; i++) {
            list.layer(new ConvolutionLayer.Builder(1, 1)
                            .nOut(24)
                            .hasBias(false)
                            .activation(Activation.IDENTITY)
                            .build())
                    .layer(new BatchNormalization())
                    .layer(new ActivationLayer(Activation.RELU));
        }
        return list.layer(new ConvolutionLayer.Builder(1, 1)
                        .nOut(1)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new CnnLossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.convolutional(16, 16, 2))
                .build();
    }

    private static DataSet sineData() {
        INDArray x = Nd4j.create(DataType.FLOAT, 1, 2, 16, 16);
        INDArray y = Nd4j.create(DataType.FLOAT, 1, 1, 16, 16);
        for (int i = 0; i < 16; i++) {
            for (int j = 0; j < 16; j++) {
                x.putScalar(new int[] {0, 0, i, j}, i / 8.0 - 1);
                x.putScalar(new int[] {0, 1, i, j}, j / 8.0 - 1);
                y.putScalar(new int[] {0, 0, i, j}, Math.sin(i / 3.0) + Math.cos(j / 4.0));
            }
        }
        return new DataSet(x, y);
    }

    private static MultiLayerConfiguration cnn(double retain) {
        return new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Adam(3e-3))
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(25)
                        .convolutionMode(ConvolutionMode.Same)
                        .activation(Activation.RELU)
                        .build())
                .layer(new SubsamplingLayer.Builder(2, 2).stride(2, 2).build())
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(11)
                        .activation(Activation.TANH)
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(64)
                        .dropOut(retain)
                        .activation(Activation.RELU)
                        .build())
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(8, 8, 1))
                .build();
    }

    private static DataSet images(int minibatch) {
        Random random = new Random(minibatch);
        INDArray x = gaussian(random, 0.5, minibatch, 1, 8, 8);
        INDArray y = Nd4j.create(DataType.FLOAT, minibatch, 3);
        for (int i = 0; i < minibatch; i++) {
            x.putScalar(new int[] {i, 0, 2 * (i % 3), 1}, 3);
            y.putScalar(i, i % 3, 1);
        }
        return new DataSet(x, y);
    }

    private static MultiLayerNetwork network(MultiLayerConfiguration configuration) {
        return Networks.init(configuration.clone());
    }

    private static AmpConfig onOneDnn(Precision precision) {
        return inPrecision(precision).build();
    }

    private static AmpConfig.Builder inPrecision(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision);
    }

    private static double train(MultiLayerNetwork network, int iterations, DataSet... batches) {
        for (int i = 0; i < iterations; i++) {
            network.fit(batches[i % batches.length]);
        }
        return network.score(batches[0]);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void trainsASineLikeNetworkToFp32sLoss(Precision precision) {
        double expected = train(network(sine()), 150, sineData());
        MultiLayerNetwork network = network(sine());
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
            double actual = train(network, 150, sineData());
            assertEquals(expected, actual, (precision.isHalf() ? 0.05 : 1e-3) * expected);
            assertEquals(0, amp.stepsSkipped());
            assertEquals(1, amp.lossScale());
        }
        assertTrue(Double.isFinite(network.score(sineData())));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void trainsACnnOnBatchesOfVaryingSizeToFp32sLoss(Precision precision) {
        DataSet[] batches = {images(32), images(7), images(1)};
        double untrained = network(cnn(1)).score(batches[0]);
        double expected = train(network(cnn(1)), 45, batches);
        MultiLayerNetwork network = network(cnn(1));
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
            double actual = train(network, 45, batches);
            assertTrue(expected < untrained / 2, expected + " after " + untrained);
            assertEquals(expected, actual, 0.05 * expected);
            assertEquals(45, amp.stepsTaken());
        }
    }

    /** DL4J takes the pooled sequences for sequences, and hands the vertex a gradient with a time step. */
    @Test
    void verticesMayStandBehindPooledSequences() {
        ComputationGraphConfiguration configuration = new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Adam(1e-2))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.recurrent(5))
                .addLayer("c2", sequences(2), "in")
                .addLayer("c3", sequences(3), "in")
                .addLayer("p2", new GlobalPoolingLayer(PoolingType.MAX), "c2")
                .addLayer("p3", new GlobalPoolingLayer(PoolingType.MAX), "c3")
                .addVertex("m", new MergeVertex(), "p2", "p3")
                .addVertex("s", new SubsetVertex(1, 9), "m")
                .addLayer(
                        "out",
                        new OutputLayer.Builder(LossFunction.MSE)
                                .activation(Activation.IDENTITY)
                                .nOut(2)
                                .build(),
                        "s")
                .setOutputs("out")
                .build();
        DataSet data = new DataSet(gaussian(new Random(1), 1, 4, 5, 7), gaussian(new Random(2), 1, 4, 2));
        ComputationGraph expected = Networks.init(configuration.clone());
        ComputationGraph actual = Networks.init(configuration.clone());
        MixedPrecision amp = MixedPrecision.enable(
                actual,
                AmpConfig.builder()
                        .engine(OneDnnEngine.NAME)
                        .precision(Precision.FLOAT)
                        .build());
        for (int i = 0; i < 3; i++) {
            expected.fit(data);
            actual.fit(data);
        }
        assertEquals(OneDnnEngine.NAME, amp.plan().row("m").engine());
        Agreement.assertWithin("parameters", expected.params(), actual.params(), 1e-4);
    }

    private static Convolution1DLayer sequences(int kernel) {
        return new Convolution1DLayer.Builder(kernel)
                .nOut(6)
                .convolutionMode(ConvolutionMode.Same)
                .build();
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void frozenLayersHaveKernels(Precision precision) {
        MultiLayerNetwork trained = network(sine());
        MultiLayerNetwork expected =
                new TransferLearning.Builder(trained).setFeatureExtractor(2).build();
        MultiLayerNetwork actual = expected.clone();
        MixedPrecision amp = MixedPrecision.enable(
                actual,
                AmpConfig.builder()
                        .engine(OneDnnEngine.NAME)
                        .precision(precision)
                        .build());
        assertEquals(OneDnnEngine.NAME, amp.plan().row("layer0").engine());
        INDArray frozen = actual.getParam("0_W").dup();
        DataSet data = new DataSet(gaussian(new Random(1), 1, 2, 2, 16, 16), gaussian(new Random(2), 1, 2, 1, 16, 16));
        for (int i = 0; i < 5; i++) {
            expected.fit(data);
            actual.fit(data);
        }
        assertEquals(frozen, actual.getParam("0_W"));
        assertEquals(expected.score(data), actual.score(data), 0.02 * expected.score(data));
    }

    @Test
    void trainsWithDropout() {
        MultiLayerNetwork network = network(cnn(0.8));
        double untrained = network.score(images(32));
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
            assertTrue(train(network, 60, images(32)) < untrained / 2);
            assertEquals(60, amp.stepsTaken());
        }
    }

    @Test
    void roundsTheParametersThemselvesWithoutMasterWeights() {
        MultiLayerNetwork network = network(cnn(1));
        AmpConfig config =
                inPrecision(Types.halfPrecision()).optLevel(OptLevel.O3).build();
        INDArray before = network.params().dup();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.output(images(2).getFeatures());
            assertEquals(before, network.params(), "only steps may change them");
            network.fit(images(2));
            INDArray weights = network.getLayer(0).getParam("W");
            assertEquals(Types.halfPrecision(), amp.precision());
            assertEquals(weights, weights.castTo(Types.half()).castTo(DataType.FLOAT));
        }
    }

    @Test
    void isWhatAutoStandsForWhereTheCpuMultipliesBfloat16() {
        MultiLayerNetwork network = network(sine());
        try (MixedPrecision amp = MixedPrecision.enable(network, AmpConfig.defaults())) {
            boolean natively = OneDnnLibrary.bfloat16() == OneDnnLibrary.Bfloat16.NATIVE;
            assertEquals(natively ? Precision.BFLOAT16 : Precision.FLOAT, amp.precision());
            assertTrue(!natively || amp.engine().equals("onednn"), amp.engine());
        }
    }

    @Test
    void fp32WithoutTheEnginesNameIsLeftToDl4j() {
        MultiLayerNetwork network = network(sine());
        AmpConfig config = AmpConfig.builder().precision(Precision.FLOAT).build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            assertTrue(amp.plan().rows().stream().allMatch(row -> row.engine().equals("dl4j")));
        }
    }

    @Test
    void whatHasNoKernelRunsInFp32AndThePlanSaysWhy() {
        MultiLayerNetwork network = network(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new LSTM.Builder().nOut(4).activation(Activation.RRELU).build())
                .layer(Networks.rnnRegression(1))
                .setInputType(InputType.recurrent(3, 5))
                .build());
        for (Precision precision : Types.precisions()) {
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
                PrecisionPlan.Row row = amp.plan().rows().get(0);
                assertEquals(Precision.FLOAT, row.precision());
                assertEquals("dl4j", row.engine());
                assertTrue(row.reason().startsWith("onednn can't: it has no kernel for activation"), row.reason());
            }
        }
    }

    @Test
    void layersKeptInFp32AreItsOwnToo() {
        DataSet[] batches = {images(32), images(7)};
        double expected = train(network(cnn(1)), 40, batches);
        MultiLayerNetwork network = network(cnn(1));
        INDArray features = images(7).getFeatures();
        List<INDArray> inDl4j = network.feedForward(features, false);
        AmpConfig config = inPrecision(Types.halfPrecision())
                .keepFull(ConvolutionLayer.class)
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            PrecisionPlan.Row first = amp.plan().rows().get(0);
            assertEquals(Precision.FLOAT, first.precision());
            assertEquals("onednn", first.engine());
            assertEquals(
                    (amp.precision().isHalf() ? "kept full by keepFull(ConvolutionLayer.class); " : "")
                            + "FP32, through oneDNN",
                    first.reason());
            assertEquals(Types.halfPrecision(), amp.plan().rows().get(3).precision());
            List<INDArray> activations = network.feedForward(features, false);
            // The second convolution returns the dense layer's input.
            for (int layer = 1; layer <= 2; layer++) {
                Agreement.assertWithin("layer " + layer, inDl4j.get(layer), activations.get(layer), 1e-5);
            }
            assertEquals(expected, train(network, 40, batches), 0.05 * expected);
        }
    }

    @Test
    void multipliesInTheOutputLayerAndRoundsNoneOfItsSums() {
        MultiLayerNetwork network = network(cnn(1));
        INDArray features = images(16).getFeatures();
        Precision precision = Types.halfPrecision();
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
            PrecisionPlan.Row row = amp.plan().rows().get(4);
            assertEquals(precision, row.precision());
            assertEquals(
                    precision == Precision.BFLOAT16
                            ? "computes BFLOAT16 with sums and loss in FP32; output in FP32: network outputs are FP32"
                            : "FP32, through oneDNN",
                    row.reason());
            INDArray output = network.output(features);
            assertEquals(DataType.FLOAT, output.dataType());
            INDArray rounded = output.castTo(DataType.BFLOAT16).castTo(DataType.FLOAT);
            assertTrue(output.distance2(rounded) > 0, "nothing of the output was to be rounded");
            assertEquals(16, output.sumNumber().doubleValue(), 1e-5);
        }
        AmpConfig inFloat = inPrecision(precision).keepFull(OutputLayer.class).build();
        try (MixedPrecision amp = MixedPrecision.enable(network, inFloat)) {
            assertEquals(Precision.FLOAT, amp.plan().rows().get(4).precision());
        }
    }

    @Test
    void activationsTakeTheMemoryOfTheirType() {
        double inFloat = activationBytes(Precision.FLOAT);
        double part = (double) Types.half().width() / DataType.FLOAT.width();
        assertEquals(part, activationBytes(Types.halfPrecision()) / inFloat, 0.01);
    }

    /**
     * Size of DL4J's workspace for the activations of all layers, in a thread of its own, since workspaces belong to
     * threads.
     */
    private static long activationBytes(Precision precision) {
        return CompletableFuture.supplyAsync(
                        () -> {
                            MultiLayerNetwork network = network(new NeuralNetConfiguration.Builder()
                                    .list()
                                    .layer(new DenseLayer.Builder().nOut(512).build())
                                    .layer(new DenseLayer.Builder().nOut(512).build())
                                    .layer(new OutputLayer.Builder(LossFunction.MSE)
                                            .nOut(100)
                                            .build())
                                    .setInputType(InputType.feedForward(300))
                                    .build());
                            DataSet batch = new DataSet(
                                    gaussian(new Random(1), 1, 64, 300), gaussian(new Random(2), 1, 64, 100));
                            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
                                train(network, 4, batch);
                                return Nd4j.getWorkspaceManager()
                                        .getWorkspaceForCurrentThread("WS_ALL_LAYERS_ACT")
                                        .getCurrentSize();
                            }
                        },
                        command -> new Thread(command).start())
                .join();
    }

    @Test
    void doesntComputeHalf() {
        Exception refusal = assertThrows(
                org.dl4jamp.precision.AmpException.class,
                () -> MixedPrecision.enable(network(sine()), onOneDnn(Precision.HALF)));
        assertTrue(refusal.getMessage().contains("not HALF"), refusal.getMessage());
    }

    @Test
    void twoNetworksInTwoThreadsGetTheSameResultsAsAlone() {
        double alone = trainOnOneDnn();
        CompletableFuture<Double> first = CompletableFuture.supplyAsync(OneDnnNetworksTest::trainOnOneDnn);
        CompletableFuture<Double> second = CompletableFuture.supplyAsync(OneDnnNetworksTest::trainOnOneDnn);
        assertEquals(alone, first.join(), 1e-3 * alone);
        assertEquals(alone, second.join(), 1e-3 * alone);
    }

    private static double trainOnOneDnn() {
        MultiLayerNetwork network = network(cnn(1));
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
            return train(network, 20, images(16));
        }
    }

    @Test
    void aTrainedNetworkMayBeUsedByAnotherThread() {
        MultiLayerNetwork network = network(sine());
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
            train(network, 2, sineData());
            INDArray here = network.output(sineData().getFeatures());
            INDArray there = CompletableFuture.supplyAsync(
                            () -> network.output(sineData().getFeatures()))
                    .join();
            assertEquals(here, there);
            assertEquals(2, amp.stepsTaken());
        }
    }

    @Test
    @Tag("long")
    void closingFreesWhatWasMade() {
        MultiLayerNetwork network = network(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(256)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(new DenseLayer.Builder().nOut(1024).build())
                .layer(Networks.regression(1))
                .setInputType(InputType.convolutional(4, 4, 128))
                .build());
        DataSet data = new DataSet(Networks.uniform(1, 2, 128, 4, 4), Networks.uniform(2, 2, 1));
        openAndClose(network, data, 5);
        long held = AlignedMemory.held();
        long before = outsideTheHeap();
        openAndClose(network, data, 500);
        assertEquals(held, AlignedMemory.held());
        // The rounded weights of the two layers are 2.5 MiB, each time: 1250 in all.
        long grown = (outsideTheHeap() - before) >> 20;
        assertTrue(grown < 625, "grew by " + grown + " MiB");
    }

    /**
     * Returns the process's memory without the heap. The garbage collector may grow the heap meanwhile, or use more of
     * it, by hundreds of MiB.
     */
    private static long outsideTheHeap() {
        return Pointer.physicalBytes() - Runtime.getRuntime().totalMemory();
    }

    private static void openAndClose(MultiLayerNetwork network, DataSet data, int times) {
        for (int i = 0; i < times; i++) {
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
                network.fit(data);
                assertEquals(1, amp.stepsTaken());
            }
        }
    }
}
