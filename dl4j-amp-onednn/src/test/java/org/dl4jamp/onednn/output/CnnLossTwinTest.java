package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks that end in a loss of images, against stock DL4J in FP32. */
class CnnLossTwinTest {
    private static final int EXAMPLES = 3;
    private static final int CLASSES = 5;
    private static final int HEIGHT = 6;
    private static final int WIDTH = 4;

    enum Objective {
        CLASSES_OF_PIXELS(LossFunction.MCXENT, Activation.SOFTMAX),
        LIKELIHOOD(LossFunction.NEGATIVELOGLIKELIHOOD, Activation.SOFTMAX),
        BINARY(LossFunction.XENT, Activation.SIGMOID),
        SQUARES(LossFunction.MSE, Activation.TANH);

        private final LossFunction loss;
        private final Activation activation;

        Objective(LossFunction loss, Activation activation) {
            this.loss = loss;
            this.activation = activation;
        }
    }

    enum Mask {
        NONE,
        OF_EXAMPLES,
        OF_PIXELS
    }

    private static MultiLayerNetwork network(Objective objective, CNN2DFormat format) {
        CnnLossLayer.Builder loss = new CnnLossLayer.Builder(objective.loss);
        loss.activation(objective.activation);
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(4)
                .updater(new Sgd(0.05))
                .l2(1e-3)
                .convolutionMode(ConvolutionMode.Same)
                .list()
                .layer(convolution(8, Activation.TANH, format))
                .layer(convolution(CLASSES, Activation.IDENTITY, format))
                .layer(loss.format(format).build())
                .setInputType(InputType.convolutional(HEIGHT, WIDTH, 3, format))
                .build());
        network.init();
        return network;
    }

    private static ConvolutionLayer convolution(int nOut, Activation activation, CNN2DFormat format) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(nOut)
                .activation(activation)
                .dataFormat(format)
                .build();
    }

    private static DataSet data(Mask mask) {
        Random random = new Random(9);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, EXAMPLES, CLASSES, HEIGHT, WIDTH);
        for (int example = 0; example < EXAMPLES; example++) {
            for (int row = 0; row < HEIGHT; row++) {
                for (int column = 0; column < WIDTH; column++) {
                    labels.putScalar(new int[] {example, random.nextInt(CLASSES), row, column}, 1);
                }
            }
        }
        INDArray labelMask =
                switch (mask) {
                    case NONE -> null;
                    case OF_EXAMPLES -> Nd4j.createFromArray(new float[][] {{1}, {0}, {1}});
                    case OF_PIXELS ->
                        gaussian(random, 1, EXAMPLES, 1, HEIGHT, WIDTH).gt(0).castTo(DataType.FLOAT);
                };
        return new DataSet(gaussian(random, 1, EXAMPLES, 3, HEIGHT, WIDTH), labels, null, labelMask);
    }

    private static MixedPrecision enable(MultiLayerNetwork network, Precision precision) {
        return MixedPrecision.enable(
                network,
                AmpConfig.builder().engine("onednn").precision(precision).build());
    }

    private static List<Precision> precisions() {
        return Types.here().stream()
                .map(type -> type == DataType.FLOAT ? Precision.FLOAT : Precision.BFLOAT16)
                .toList();
    }

    @ParameterizedTest
    @CsvSource({
        "CLASSES_OF_PIXELS, NONE",
        "CLASSES_OF_PIXELS, OF_EXAMPLES",
        "CLASSES_OF_PIXELS, OF_PIXELS",
        "LIKELIHOOD, NONE",
        "BINARY, NONE",
        "BINARY, OF_PIXELS",
        "SQUARES, NONE",
        "SQUARES, OF_EXAMPLES"
    })
    void trainsScoresAndInfersAsStockDl4jDoes(Objective objective, Mask mask) {
        DataSet data = data(mask);
        for (Precision precision : precisions()) {
            double error = precision == Precision.FLOAT ? 1e-5 : 0.03;
            MultiLayerNetwork stock = network(objective, CNN2DFormat.NCHW);
            MultiLayerNetwork network = network(objective, CNN2DFormat.NCHW);
            try (MixedPrecision amp = enable(network, precision)) {
                PrecisionPlan.Row row = amp.plan().rows().get(2);
                assertEquals("onednn", row.engine(), row.toString());
                assertEquals(Precision.FLOAT, row.precision(), row.toString());
                assertEquals(precision, row.input(), row.toString());
                for (int step = 0; step < 3; step++) {
                    stock.fit(data);
                    network.fit(data);
                    assertEquals(stock.score(), network.score(), error * stock.score(), precision + " score");
                }
                Agreement.assertWithin(precision + " parameters", stock.params(), network.params(), error);
                INDArray features = data.getFeatures();
                Agreement.assertWithin(precision + " output", stock.output(features), network.output(features), error);
                assertEquals(stock.score(data), network.score(data), error * stock.score(data));
                Agreement.assertWithin(
                        precision + " scores",
                        stock.scoreExamples(data, true),
                        network.scoreExamples(data, true),
                        error);
            }
        }
    }

    /** DL4J's score in this format is that of other rows, and the same here. */
    @ParameterizedTest
    @EnumSource
    void leavesImagesWithTheirChannelsLastToDl4j(Objective objective) {
        MultiLayerNetwork network = network(objective, CNN2DFormat.NHWC);
        try (MixedPrecision amp = enable(network, Precision.FLOAT)) {
            PrecisionPlan.Row row = amp.plan().rows().get(2);
            assertTrue(row.reason().contains("format NHWC"), row.toString());
        }
    }
}
