package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Precision;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.array.AlignedMemory;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** What a network holds for the arithmetic of its layers belongs to the layers, not to each shape of their input. */
class MemoryOfShapesTest {
    private static final int SHAPES = 16;

    /**
     * What a network is trained on.
     *
     * @param name what changes
     * @param layers of the network
     * @param type of its input
     * @param batches of as many shapes, the largest last
     */
    record Kind(String name, List<Layer> layers, InputType type, List<DataSet> batches) {
        MultiLayerNetwork network() {
            NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                    .seed(1)
                    .updater(new Sgd(1e-3))
                    .list();
            layers.forEach(layer -> list.layer(layer.clone()));
            MultiLayerNetwork network =
                    new MultiLayerNetwork(list.setInputType(type).build());
            network.init();
            return network;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static ConvolutionLayer convolution(int kernel, int stride, int channels, Activation activation) {
        return new ConvolutionLayer.Builder(kernel, kernel)
                .stride(stride, stride)
                .nOut(channels)
                .convolutionMode(ConvolutionMode.Same)
                .activation(activation)
                .build();
    }

    private static List<Layer> ofImages() {
        return List.of(
                convolution(3, 1, 64, Activation.RELU),
                new LocalResponseNormalization.Builder().n(5).build(),
                convolution(3, 1, 128, Activation.IDENTITY),
                new BatchNormalization(),
                new ActivationLayer(Activation.RELU),
                convolution(1, 2, 256, Activation.TANH),
                new SeparableConvolution2D.Builder(3, 3)
                        .nOut(192)
                        .convolutionMode(ConvolutionMode.Same)
                        .activation(Activation.RELU)
                        .build(),
                convolution(3, 2, 256, Activation.SOFTPLUS),
                new GlobalPoolingLayer(PoolingType.AVG),
                new DenseLayer.Builder()
                        .nOut(512)
                        .hasLayerNorm(true)
                        .activation(Activation.RELU)
                        .build(),
                new DenseLayer.Builder().nOut(512).activation(Activation.RELU).build(),
                new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build());
    }

    private static DataSet images(int examples, int size) {
        INDArray labels = Nd4j.create(DataType.FLOAT, examples, 3);
        for (int i = 0; i < examples; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        return new DataSet(gaussian(new Random(size), 1, examples, 3, size, size), labels);
    }

    private static DataSet sequences(int examples, int steps) {
        Random random = new Random(steps);
        return new DataSet(gaussian(random, 1, examples, 64, steps), gaussian(random, 1, examples, 8, steps));
    }

    static Stream<Arguments> kinds() {
        List<Layer> recurrent = List.of(
                new LSTM.Builder().nOut(256).build(),
                new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(8)
                        .activation(Activation.TANH)
                        .build());
        List<Kind> kinds = List.of(
                new Kind(
                        "batch sizes of images",
                        ofImages(),
                        InputType.convolutional(12, 12, 3),
                        IntStream.rangeClosed(1, SHAPES)
                                .mapToObj(examples -> images(examples, 12))
                                .toList()),
                new Kind(
                        "sizes of images",
                        ofImages(),
                        InputType.convolutional(12, 12, 3),
                        IntStream.rangeClosed(1, SHAPES)
                                .mapToObj(more -> images(2, 4 + more))
                                .toList()),
                new Kind(
                        "lengths of sequences",
                        recurrent,
                        InputType.recurrent(64),
                        IntStream.rangeClosed(1, SHAPES)
                                .mapToObj(steps -> sequences(4, steps))
                                .toList()));
        return Types.precisions().stream()
                .flatMap(precision -> kinds.stream().map(kind -> Arguments.of(kind, precision)));
    }

    /** How much native memory a network holds after it was trained on some batches. */
    private static long heldAfter(Kind kind, Precision precision, List<DataSet> batches) {
        long before = AlignedMemory.held();
        AmpConfig config =
                AmpConfig.builder().precision(precision).engine("onednn").build();
        MultiLayerNetwork network = kind.network();
        long held;
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            batches.forEach(network::fit);
            held = AlignedMemory.held() - before;
        }
        assertEquals(before, AlignedMemory.held(), "all is given back");
        return held;
    }

    /**
     * Which orders primitives want depends on instruction set, number of threads and shape, and there is a copy of the weights for each order. Each shape with copies of its own
     * would take about ten times the largest.
     */
    @ParameterizedTest
    @MethodSource("kinds")
    void sixteenShapesTakeAtMostTwiceTheLargest(Kind kind, Precision precision) {
        long one = heldAfter(kind, precision, kind.batches().subList(SHAPES - 1, SHAPES));
        long all = heldAfter(kind, precision, kind.batches());
        assertTrue(one > 0);
        assertTrue(all <= 2 * one, () -> all + " bytes for " + SHAPES + " shapes, " + one + " for one");
    }

    @Test
    void primitivesOfTheBackwardPassAreMadeWhenItComes() {
        ConvolutionLayer conf = convolution(3, 1, 4, Activation.IDENTITY);
        conf.setNIn(4);
        Random random = new Random(1);
        INDArray params = gaussian(random, 0.3, conf.initializer().numParams(conf));
        INDArray input = gaussian(random, 1, 2, 4, 6, 6);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            twin.activate(input, false, LayerWorkspaceMgr.noWorkspaces());
            long made = OneDnnContext.made();
            twin.activate(input, false, LayerWorkspaceMgr.noWorkspaces());
            assertEquals(made, OneDnnContext.made());
            Layers.run(twin, input, gaussian(random, 1, 2, 4, 6, 6));
            assertEquals(made + 2, OneDnnContext.made(), "for the gradients of weights and input");
        }
    }
}
