package org.dl4jamp.onednn.recurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Whole recurrent networks on this engine. */
class RecurrentNetworksTest {
    private static final String TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps on. ";
    private static final int CHARACTERS = 27;
    private static final int STEPS = 24;

    private static int code(int at) {
        char c = TEXT.charAt(at % TEXT.length());
        return c >= 'a' && c <= 'z' ? c - 'a' : 26;
    }

    /** Sequences of characters, and the characters after them; the last of the sequences end early. */
    private static DataSet text(int minibatch, int steps, boolean masked) {
        INDArray features = Nd4j.zeros(DataType.FLOAT, minibatch, CHARACTERS, steps);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, minibatch, CHARACTERS, steps);
        INDArray mask = Nd4j.zeros(DataType.FLOAT, minibatch, steps);
        for (int n = 0; n < minibatch; n++) {
            int length = masked ? steps - n % 5 : steps;
            for (int t = 0; t < length; t++) {
                features.putScalar(n, code(7 * n + t), t, 1);
                labels.putScalar(n, code(7 * n + t + 1), t, 1);
                mask.putScalar(n, t, 1);
            }
        }
        return masked ? new DataSet(features, labels, mask, mask) : new DataSet(features, labels);
    }

    private static NeuralNetConfiguration.ListBuilder builder(Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(7)
                .activation(Activation.TANH)
                .updater(new Adam(5e-3))
                .list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return list;
    }

    private static MultiLayerConfiguration characters(Layer... layers) {
        return builder(layers)
                .layer(Networks.rnnSoftmax(CHARACTERS))
                .setInputType(InputType.recurrent(CHARACTERS))
                .build();
    }

    private static Layer lstm(int units) {
        return new LSTM.Builder().nOut(units).build();
    }

    private static MultiLayerNetwork network(MultiLayerConfiguration configuration) {
        return Networks.init(configuration.clone());
    }

    private static AmpConfig onOneDnn(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static double train(MultiLayerNetwork network, int iterations, DataSet... batches) {
        for (int i = 0; i < iterations; i++) {
            network.fit(batches[i % batches.length]);
        }
        return network.score(batches[0]);
    }

    /**
     * Trains with and without mixed precision and compares the losses; returns the network that was trained with it.
     */
    private static MultiLayerNetwork assertTrainsToFp32sLoss(
            MultiLayerConfiguration configuration, Precision precision, int iterations, DataSet... batches) {
        double untrained = network(configuration).score(batches[0]);
        double expected = train(network(configuration), iterations, batches);
        MultiLayerNetwork network = network(configuration);
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
            double actual = train(network, iterations, batches);
            assertEquals("onednn", amp.plan().rows().get(0).engine(), amp.plan().toString());
            assertEquals(
                    precision, amp.plan().rows().get(0).precision(), amp.plan().toString());
            assertTrue(expected < 0.8 * untrained, expected + " after " + untrained);
            assertEquals(expected, actual, 0.05 * expected);
            assertEquals(0, amp.stepsSkipped());
        }
        return network;
    }

    /** ND4J's {@code get} returns an empty array for rows of a last step that lies scattered in its sequence. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void verticesTakeRowsOfTheLastStepOfAnLstm(Precision precision) {
        ComputationGraph stock = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .activation(Activation.TANH)
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.recurrent(CHARACTERS))
                .addLayer("last", new LastTimeStep(lstm(12)), "in")
                .addVertex("rows", new UnstackVertex(1, 2), "last")
                .addLayer("out", new OutputLayer.Builder().nOut(3).build(), "rows")
                .setOutputs("out")
                .build());
        INDArray features = text(4, 9, false).getFeatures();
        INDArray expected = stock.outputSingle(true, features);
        ComputationGraph graph = stock.clone();
        try (MixedPrecision amp = MixedPrecision.enable(graph, onOneDnn(precision))) {
            assertEquals(
                    precision, amp.plan().row("last").precision(), amp.plan().toString());
            INDArray actual = graph.outputSingle(true, features);
            assertTrue(expected.equalsWithEps(actual, precision == Precision.FLOAT ? 1e-5 : 0.02), actual.toString());
        }
    }

    /** DL4J makes one sequence of the whole batch behind a dense layer then, and leaves the mask as it is. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void masksOfNetworksWithoutMinibatchesAreThoseOfStock(Precision precision) {
        MultiLayerNetwork stock = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .miniBatch(false)
                .activation(Activation.TANH)
                .list()
                .layer(new DenseLayer.Builder().nOut(6).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .activation(Activation.SOFTPLUS)
                        .build())
                .setInputType(InputType.recurrent(CHARACTERS))
                .build());
        DataSet batch = text(4, 9, true);
        INDArray mask = batch.getFeaturesMaskArray();
        INDArray expected = stock.output(batch.getFeatures(), false, mask, mask);
        MultiLayerNetwork network = stock.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
            assertEquals("onednn", amp.plan().rows().get(1).engine());
            for (int i = 0; i < 2; i++) {
                INDArray actual = network.output(batch.getFeatures(), false, mask, mask);
                assertTrue(
                        expected.equalsWithEps(actual, precision == Precision.FLOAT ? 1e-5 : 0.02), actual.toString());
            }
        }
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void lstmsLearnCharactersWithMasksInBatchesAndLengthsThatVary(Precision precision) {
        assertTrainsToFp32sLoss(
                characters(lstm(48), lstm(40)),
                precision,
                60,
                text(16, STEPS, true),
                text(5, STEPS, false),
                text(1, 9, true));
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void lstmsWithPeepholesLearnCharactersInOneAndBothDirections(Precision precision) {
        assertTrainsToFp32sLoss(
                characters(
                        graves(32),
                        new GravesBidirectionalLSTM.Builder().nOut(24).build()),
                precision,
                30,
                text(12, STEPS, true),
                text(5, STEPS, false),
                text(1, 9, true));
    }

    /** A few steps of all cells, one behind the other; the long tests train each of them to its loss. */
    @Test
    void aFewStepsOfAllCellsAreThoseOfFp32() {
        for (boolean truncates : new boolean[] {false, true}) {
            Layer[] cells = {
                lstm(12), graves(12), new SimpleRnn.Builder().nOut(12).build()
            };
            MultiLayerConfiguration configuration = truncates ? truncated(10, cells) : characters(cells);
            MultiLayerNetwork stock = network(configuration);
            MultiLayerNetwork network = network(configuration);
            INDArray before = stock.params().dup();
            DataSet[] batches = {text(4, 14, true), text(3, 14, false), text(1, 9, true)};
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
                train(stock, 3, batches);
                train(network, 3, batches);
                assertEquals(
                        "onednn", amp.plan().rows().get(2).engine(), amp.plan().toString());
            }
            Agreement.assertWithin(
                    "change", stock.params().sub(before), network.params().sub(before), 1e-3);
        }
    }

    private static Layer graves(int units) {
        return new GravesLSTM.Builder().nOut(units).build();
    }

    private static MultiLayerConfiguration truncated(int backLength, Layer... layers) {
        MultiLayerConfiguration configuration = characters(layers);
        configuration.setBackpropType(BackpropType.TruncatedBPTT);
        configuration.setTbpttFwdLength(10);
        configuration.setTbpttBackLength(backLength);
        return configuration;
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void truncatedBpttOfLstmsCarriesTheState(Precision precision) {
        assertTrainsToFp32sLoss(truncated(7, lstm(40), lstm(32)), precision, 20, text(8, 27, true));
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void truncatedBpttOfLstmsWithPeepholesCarriesTheState(Precision precision) {
        assertTrainsToFp32sLoss(truncated(7, graves(32)), precision, 25, text(8, 27, true));
    }

    /** At the first forward pass it's unknown that the backward pass ends within the sequence. */
    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void truncatedBpttOfLstmsNeedsNoMask(Precision precision) {
        assertTrainsToFp32sLoss(truncated(7, lstm(40), lstm(32)), precision, 20, text(8, 27, false));
    }

    /** Not shorter backward than forward: DL4J's layer returns uninitialized memory for the first time steps. */
    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void truncatedBpttOfSimpleRnnsCarriesTheState(Precision precision) {
        assertTrainsToFp32sLoss(
                truncated(
                        10,
                        new SimpleRnn.Builder().nOut(40).build(),
                        new SimpleRnn.Builder().nOut(32).build()),
                precision,
                20,
                text(8, 27, true));
    }

    @Test
    void timeStepsOneByOneGiveWhatTheWholeSequenceGives() {
        MultiLayerNetwork network = network(characters(lstm(24), graves(24)));
        train(network, 3, text(3, STEPS, false));
        INDArray sequences = text(3, STEPS, false).getFeatures();
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
            INDArray whole = network.output(sequences);
            for (int t = 0; t < STEPS; t++) {
                INDArray step = network.rnnTimeStep(sequences.get(
                        org.nd4j.linalg.indexing.NDArrayIndex.all(),
                        org.nd4j.linalg.indexing.NDArrayIndex.all(),
                        org.nd4j.linalg.indexing.NDArrayIndex.interval(t, t + 1)));
                Agreement.assertWithin(
                        "step " + t,
                        whole.tensorAlongDimension(t, 0, 1).dup(),
                        step.reshape(3, CHARACTERS),
                        Agreement.rounding(Types.half()) + 1e-5);
            }
            assertEquals(Types.halfPrecision(), amp.precision());
        }
        // The state is the network's, with and without mixed precision.
        assertTrue(network.rnnGetPreviousState(0).containsKey("prevMem"));
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(Bidirectional.Mode.class)
    void bidirectionalLayersLearn(Bidirectional.Mode mode) {
        assertTrainsToFp32sLoss(
                characters(new Bidirectional(mode, lstm(32))), Types.halfPrecision(), 30, text(8, STEPS, true));
    }

    @Tag("long")
    @Test
    void embeddedCharactersAreLearntToo() {
        MultiLayerConfiguration configuration = builder(
                        new EmbeddingSequenceLayer.Builder()
                                .nIn(CHARACTERS)
                                .nOut(20)
                                .inputLength(STEPS)
                                .build(),
                        new LSTM.Builder()
                                .nIn(20)
                                .nOut(32)
                                .dataFormat(RNNFormat.NCW)
                                .build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(32)
                        .nOut(CHARACTERS)
                        .dataFormat(RNNFormat.NCW)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build();
        DataSet text = text(8, STEPS, false);
        assertTrainsToFp32sLoss(
                configuration,
                Types.halfPrecision(),
                30,
                new DataSet(text.getFeatures().argMax(1).castTo(DataType.FLOAT), text.getLabels()));
    }

    private static DataSet classes(int minibatch) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, minibatch, 2);
        for (int n = 0; n < minibatch; n++) {
            labels.putScalar(n, n % 2, 1);
        }
        DataSet text = text(minibatch, STEPS, true);
        return new DataSet(text.getFeatures(), labels, text.getFeaturesMaskArray(), null);
    }

    @Test
    void theLastTimeStepOfMaskedSequencesIsClassified() {
        MultiLayerConfiguration configuration = builder(lstm(24), new LastTimeStep(lstm(24)))
                .layer(Networks.softmax(2))
                .setInputType(InputType.recurrent(CHARACTERS))
                .build();
        assertTrainsToFp32sLoss(configuration, Types.halfPrecision(), 12, classes(12));
    }

    @Tag("long")
    @Test
    void savesAndRestoresWhatItTrained() throws IOException {
        DataSet text = text(8, STEPS, false);
        MultiLayerNetwork network = assertTrainsToFp32sLoss(characters(lstm(24)), Types.halfPrecision(), 30, text);
        ByteArrayOutputStream saved = new ByteArrayOutputStream();
        ModelSerializer.writeModel(network, saved, true);
        MultiLayerNetwork restored =
                ModelSerializer.restoreMultiLayerNetwork(new ByteArrayInputStream(saved.toByteArray()), true);
        assertEquals(network.score(text), restored.score(text));
        try (MixedPrecision amp = MixedPrecision.enable(restored, onOneDnn(Types.halfPrecision()))) {
            assertTrue(train(restored, 10, text) < network.score(text));
            assertEquals(10, amp.stepsTaken());
        }
    }
}
