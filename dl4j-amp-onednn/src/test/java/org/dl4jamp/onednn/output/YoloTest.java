package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.layers.objdetect.DetectedObject;
import org.deeplearning4j.nn.layers.objdetect.YoloUtils;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossL1;
import org.nd4j.linalg.lossfunctions.impl.LossL2;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossNegativeLogLikelihood;

/** Networks that end in boxes of objects, against stock DL4J, whose layer computes with arrays of five axes. */
class YoloTest {
    private static final int CLASSES = 3;
    private static final int BOXES = 3;
    private static final int CHANNELS = 4;
    private static final int HEIGHT = 5;
    private static final int WIDTH = 4;

    /** One prior per box: width and height in cells. */
    private static INDArray priors() {
        return Nd4j.createFromArray(new float[][] {{0.8f, 1.3f}, {2.1f, 0.9f}, {1.6f, 2.4f}});
    }

    private static Yolo2OutputLayer.Builder boxes() {
        return new Yolo2OutputLayer.Builder().boundingBoxPriors(priors());
    }

    private static LossNetwork network(CNN2DFormat format, Yolo2OutputLayer loss) {
        ConvolutionLayer hidden = new ConvolutionLayer.Builder(1, 1)
                .nOut(BOXES * (5 + CLASSES))
                .dataFormat(format)
                .activation(Activation.IDENTITY)
                .build();
        return new LossNetwork(InputType.convolutional(HEIGHT, WIDTH, CHANNELS, format), hidden, loss);
    }

    /** Returns a batch in which each example has some objects, some of them far from their cell. */
    private static DataSet data(CNN2DFormat format, int examples) {
        Random random = new Random(3);
        INDArray features = gaussian(random, 1, examples, CHANNELS, HEIGHT, WIDTH);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, examples, 4 + CLASSES, HEIGHT, WIDTH);
        for (int i = 0; i < examples; i++) {
            for (int object = 0; object < 5; object++) {
                int row = random.nextInt(HEIGHT);
                int column = random.nextInt(WIDTH);
                double away = object == 4 ? 20 : 0;
                double x = column + 0.1 + 0.8 * random.nextDouble() + away;
                double y = row + 0.1 + 0.8 * random.nextDouble();
                double halfWidth = 0.3 + random.nextDouble();
                double halfHeight = 0.3 + random.nextDouble();
                double[] corners = {x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight};
                for (int k = 0; k < 4 + CLASSES; k++) {
                    labels.putScalar(new int[] {i, k, row, column}, k < 4 ? corners[k] : 0);
                }
                labels.putScalar(new int[] {i, 4 + random.nextInt(CLASSES), row, column}, 1);
            }
        }
        return format == CNN2DFormat.NCHW
                ? new DataSet(features, labels)
                : new DataSet(
                        features.permute(0, 2, 3, 1).dup('c'),
                        labels.permute(0, 2, 3, 1).dup('c'));
    }

    static Stream<Arguments> cases() {
        Yolo2OutputLayer.Builder weighted =
                boxes().lambdaCoord(3).lambdaNoObj(0.2).lossClassPredictions(new LossMCXENT());
        return Stream.of(CNN2DFormat.values())
                .flatMap(format -> Stream.of(
                        Arguments.of(format, boxes().build()),
                        Arguments.of(format, weighted.build()),
                        Arguments.of(
                                format,
                                boxes().lossClassPredictions(new LossNegativeLogLikelihood())
                                        .build())));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void trainsScoresAndInfersAsStockDl4jDoes(CNN2DFormat format, Yolo2OutputLayer loss) {
        LossNetwork network = network(format, loss).penalized(1e-3);
        for (Precision precision : Types.precisions()) {
            network.assertTrainsScoresAndInfersAsStock(data(format, 3), precision);
            network.asGraph().assertTrainsScoresAndInfersAsStock(data(format, 3), precision);
        }
    }

    /** Dropout and weight noise of the next step have the numbers of stock DL4J, whose layer draws some, too. */
    @Test
    void drawsAsManyRandomNumbersAsStockDl4jDoes() {
        for (CNN2DFormat format : CNN2DFormat.values()) {
            LossNetwork networks = network(format, boxes().build());
            Model network = networks.make();
            long expected = numberBehind(networks.make(), data(format, 3));
            try (MixedPrecision amp = LossNetwork.enable(
                    network, LossNetwork.config(Precision.FLOAT).build())) {
                assertEquals(expected, numberBehind(network, data(format, 3)), format::toString);
            }
        }
    }

    private static long numberBehind(Model network, DataSet data) {
        Nd4j.getRandom().setSeed(5);
        Networks.fit(network, data.copy());
        LossNetwork.score(network, data.copy());
        LossNetwork.scores(network, data.copy());
        return Nd4j.getRandom().nextLong();
    }

    /** So many examples are computed on several threads. */
    @Test
    void trainsWithManyExamplesAsStockDl4jDoes() {
        CNN2DFormat format = CNN2DFormat.NCHW;
        network(format, boxes().build()).assertTrainsScoresAndInfersAsStock(data(format, 64), Precision.FLOAT);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void gradientsAreDifferencesOfScores(CNN2DFormat format, Yolo2OutputLayer loss) {
        network(format, loss).assertGradientsAreDifferences(data(format, 2));
    }

    /** Each number of a gradient for itself: the parameters' are sums over cells. */
    @Test
    void gradientsOfTheInputAreThoseOfStockDl4j() {
        for (CNN2DFormat format : CNN2DFormat.values()) {
            LossNetwork networks = network(format, boxes().build());
            DataSet data = data(format, 4);
            MultiLayerNetwork stock = (MultiLayerNetwork) networks.make();
            MultiLayerNetwork network = (MultiLayerNetwork) networks.make();
            INDArray expected = inputGradient(stock, data);
            for (Precision precision : Types.precisions()) {
                try (MixedPrecision amp = LossNetwork.enable(
                        network, LossNetwork.config(precision).build())) {
                    INDArray actual = inputGradient(network, data);
                    Agreement.assertWithin(precision + " input", expected, actual, LossNetwork.tolerance(precision));
                }
            }
        }
    }

    private static INDArray inputGradient(MultiLayerNetwork network, DataSet data) {
        return network.calculateGradients(
                        data.getFeatures().dup(), data.getLabels().dup(), null, null)
                .getSecond();
    }

    /** The weights of classes needn't be one, nor of one class. */
    @Test
    void takesLabelsThatAreNotOneHot() {
        DataSet data = data(CNN2DFormat.NCHW, 3);
        INDArray labels = data.getLabels();
        for (int i = 0; i < 3; i++) {
            for (int row = 0; row < HEIGHT; row++) {
                for (int k = 0; k < CLASSES; k++) {
                    int[] at = {i, 4 + k, row, 1};
                    labels.putScalar(at, labels.getDouble(at) * 0.6);
                }
            }
        }
        for (Yolo2OutputLayer loss : List.of(
                boxes().build(), boxes().lossClassPredictions(new LossMCXENT()).build())) {
            network(CNN2DFormat.NCHW, loss).assertTrainsScoresAndInfersAsStock(data, Precision.FLOAT);
        }
    }

    @Test
    void findsTheObjectsThatStockDl4jFinds() {
        LossNetwork networks = network(CNN2DFormat.NCHW, boxes().build());
        DataSet data = data(CNN2DFormat.NCHW, 3);
        Model stock = networks.make();
        Model network = networks.make();
        try (MixedPrecision amp =
                LossNetwork.enable(network, LossNetwork.config(Precision.FLOAT).build())) {
            List<DetectedObject> expected = detected(LossNetwork.output(stock, data.getFeatures()));
            List<DetectedObject> actual = detected(LossNetwork.output(network, data.getFeatures()));
            assertTrue(expected.size() > 3, expected::toString);
            assertEquals(expected.size(), actual.size());
            for (int i = 0; i < expected.size(); i++) {
                assertEquals(expected.get(i).getCenterX(), actual.get(i).getCenterX(), 1e-5);
                assertEquals(expected.get(i).getHeight(), actual.get(i).getHeight(), 1e-5);
                assertEquals(expected.get(i).getPredictedClass(), actual.get(i).getPredictedClass());
            }
            org.deeplearning4j.nn.layers.objdetect.Yolo2OutputLayer layer =
                    (org.deeplearning4j.nn.layers.objdetect.Yolo2OutputLayer)
                            MixedPrecision.master(((MultiLayerNetwork) network).getOutputLayer());
            assertEquals(
                    expected.size(),
                    layer.getPredictedObjects(LossNetwork.output(network, data.getFeatures()), 0.6)
                            .size());
        }
    }

    private static List<DetectedObject> detected(INDArray output) {
        return YoloUtils.getPredictedObjects(priors(), output, 0.6, 0);
    }

    @Test
    void trainsWithAScaleAndSkipsSteps() {
        DataSet data = data(CNN2DFormat.NCHW, 3);
        DataSet[] broken = {data.copy(), data.copy()};
        broken[0].getLabels().putScalar(new int[] {1, 0, 0, 0}, Double.NaN);
        broken[1].getLabels().putScalar(new int[] {1, 4, 0, 0}, Double.NaN);
        PrecisionPlan.Row row = network(CNN2DFormat.NCHW, boxes().build()).assertTrainsWithAScaleAndSkips(data, broken);
        assertEquals(Precision.FLOAT, row.precision(), row.toString());
        assertEquals(Types.halfPrecision(), row.input(), row.toString());
    }

    /** Sizes beyond FP32's range make the loss of boxes without objects NaN, too: training has diverged. */
    @Test
    void lossesThatAreNotFiniteInStockDl4jAreNotFiniteHere() {
        for (int channel : new int[] {2, 5, 8 + 3, 16 + 7}) {
            LossNetwork networks = network(CNN2DFormat.NCHW, boxes().build());
            DataSet data = data(CNN2DFormat.NCHW, 1);
            data.getLabels().assign(0);
            Model stock = networks.make();
            Model network = networks.make();
            for (Model each : List.of(stock, network)) {
                // The biases are first in memory.
                each.params().putScalar(channel, channel % 8 < 5 ? 100 : Float.MAX_VALUE);
                data.getFeatures().assign(channel % 8 < 5 ? 0 : 1e30);
            }
            try (MixedPrecision amp = LossNetwork.enable(
                    network, LossNetwork.config(Precision.FLOAT).build())) {
                assertEquals(Double.NaN, LossNetwork.score(stock, data), "channel " + channel);
                assertEquals(Double.NaN, LossNetwork.score(network, data), "channel " + channel);
                Networks.fit(network, data);
                assertEquals(1, amp.stepsSkipped(), "channel " + channel);
            }
        }
    }

    @Test
    void refusesWrongArraysAsStockDl4jDoes() {
        INDArray features = data(CNN2DFormat.NCHW, 2).getFeatures();
        LossNetwork network = network(CNN2DFormat.NCHW, boxes().build());
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(2, 4 + CLASSES)));
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(2, 5 + CLASSES, HEIGHT, WIDTH)));
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(2, 4 + CLASSES, HEIGHT, WIDTH + 1)));
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(1, 4 + CLASSES, HEIGHT, WIDTH)));
    }

    @Test
    void leavesOtherLossFunctionsToDl4j() {
        ILossFunction weighted = new LossL2(Nd4j.ones(1, CLASSES));
        for (Yolo2OutputLayer loss : List.of(
                boxes().lossClassPredictions(new LossL1()).build(),
                boxes().lossClassPredictions(weighted).build(),
                boxes().lossPositionScale(new LossL1()).build())) {
            Model network = network(CNN2DFormat.NCHW, loss).make();
            try (MixedPrecision amp = LossNetwork.enable(
                    network, LossNetwork.config(Precision.FLOAT).build())) {
                PrecisionPlan.Row row = amp.plan().rows().get(1);
                assertTrue(row.reason().contains("Yolo2OutputLayer"), row.toString());
                assertFalse(row.engine().equals("onednn"), row.toString());
            }
        }
    }
}
