package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * The last layer before a loss without weights is repeated with those before it, and its result is read from memory
 * that the next pass overwrites: what a program has got from passes before stays as it was.
 */
class RepeatedLossesTest {
    private static final long EXAMPLES = 3;

    /** A loss without weights, behind two layers of one kind. */
    private record Network(String name, InputType type, List<Long> shape, int outputs, Product product, Layer loss) {
        private interface Product {
            Layer layer(int out, Activation function);
        }

        MultiLayerNetwork init() {
            return Networks.init(Networks.builder(new Sgd(1e-2))
                    .list()
                    .layer(product.layer(8, Activation.RELU))
                    .layer(product.layer(outputs, Activation.IDENTITY))
                    .layer(loss.clone())
                    .setInputType(type)
                    .build());
        }

        INDArray input(int seed) {
            return Networks.gaussian(
                    seed, shape.stream().mapToLong(Long::longValue).toArray());
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static Network rows() {
        return new Network(
                "rows",
                InputType.feedForward(7),
                List.of(EXAMPLES, 7L),
                4,
                (out, function) ->
                        new DenseLayer.Builder().nOut(out).activation(function).build(),
                new LossLayer.Builder(LossFunction.MCXENT)
                        .activation(Activation.SOFTMAX)
                        .build());
    }

    private static Network pixels(String name, int outputs, Layer loss) {
        return new Network(
                name,
                InputType.convolutional(6, 5, 2),
                List.of(EXAMPLES, 2L, 6L, 5L),
                outputs,
                (out, function) -> new ConvolutionLayer.Builder(1, 1)
                        .nOut(out)
                        .activation(function)
                        .build(),
                loss);
    }

    private static Layer pixelLoss(LossFunction loss, Activation function) {
        return new CnnLossLayer.Builder(loss).activation(function).build();
    }

    private static Network voxels() {
        return new Network(
                "voxels",
                InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 4, 5, 3, 2),
                List.of(EXAMPLES, 2L, 4L, 5L, 3L),
                4,
                (out, function) -> new Convolution3D.Builder(1, 1, 1)
                        .nOut(out)
                        .activation(function)
                        .build(),
                new Cnn3DLossLayer.Builder(Convolution3D.DataFormat.NCDHW)
                        .lossFunction(LossFunction.MSE)
                        .activation(Activation.TANH)
                        .build());
    }

    private static Network timeSteps() {
        return new Network(
                "time steps",
                InputType.recurrent(3, 6),
                List.of(EXAMPLES, 3L, 6L),
                4,
                (out, function) -> new Convolution1DLayer.Builder(1)
                        .nOut(out)
                        .activation(function)
                        .build(),
                new RnnLossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .build());
    }

    private static Network boxes() {
        return pixels(
                "boxes",
                14,
                new Yolo2OutputLayer.Builder()
                        .boundingBoxPriors(Nd4j.createFromArray(new float[][] {{1, 1}, {2, 1}}))
                        .build());
    }

    private static Stream<Network> scored() {
        return Stream.of(
                rows(),
                pixels("pixels", 4, pixelLoss(LossFunction.MSE, Activation.IDENTITY)),
                pixels("classes of pixels", 4, pixelLoss(LossFunction.MCXENT, Activation.SOFTMAX)),
                voxels(),
                timeSteps());
    }

    private static Stream<Arguments> each(Stream<Network> networks) {
        return networks.flatMap(
                network -> Types.precisions().stream().map(precision -> Arguments.of(network, precision)));
    }

    private static Stream<Arguments> all() {
        return each(Stream.concat(scored(), Stream.of(boxes())));
    }

    private static Stream<Arguments> allScored() {
        return each(scored());
    }

    /** The numbers of an output have to be those that a copy of the network computes in its first pass. */
    private static void assertAsFirst(MultiLayerNetwork stock, Precision precision, INDArray x, INDArray output) {
        float[] expected = RepeatedLayersTest.first(stock, precision, each -> each.output(x));
        assertArrayEquals(expected, RepeatedLayersTest.numbers(output));
    }

    @ParameterizedTest
    @MethodSource("all")
    void outputsArePassesOfTheirOwn(Network loss, Precision precision) {
        MultiLayerNetwork network = loss.init();
        MultiLayerNetwork stock = network.clone();
        long before = Repetition.repeated();
        List<INDArray> outputs = new ArrayList<>();
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            for (int pass = 0; pass < RepeatedPassesTest.BEFORE + 5; pass++) {
                outputs.add(network.output(loss.input(pass)));
            }
            assertTrue(Repetition.repeated() >= before + 4, "repeated");
            for (int pass = 0; pass < outputs.size(); pass++) {
                INDArray x = loss.input(pass);
                assertAsFirst(stock, precision, x, outputs.get(pass));
                Agreement.assertWithin(
                        "stock DL4J", stock.output(x), outputs.get(pass), precision == Precision.FLOAT ? 1e-5 : 0.03);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("allScored")
    void scoresBetweenPassesAreOfTheirOwnInput(Network loss, Precision precision) {
        MultiLayerNetwork network = loss.init();
        MultiLayerNetwork stock = network.clone();
        INDArray labels = stock.output(loss.input(40));
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            for (int pass = 0; pass < RepeatedPassesTest.BEFORE + 5; pass++) {
                INDArray output = network.output(loss.input(pass));
                DataSet data = new DataSet(loss.input(pass + 20), labels);
                double expected = stock.score(data);
                assertEquals(
                        expected,
                        network.score(data),
                        expected * (precision == Precision.FLOAT ? 1e-5 : 0.03),
                        "score");
                assertAsFirst(stock, precision, loss.input(pass), output);
            }
        }
    }
}
