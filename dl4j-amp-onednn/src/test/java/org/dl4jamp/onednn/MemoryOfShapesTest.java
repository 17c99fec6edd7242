package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.function.Supplier;
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
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The memory for the arithmetic of layers belongs to the layers, not to each shape of their input. */
@Tag("long")
class MemoryOfShapesTest {
    private static final int SHAPES = 16;

    /**
     * The training data of a network.
     *
     * @param name the axis that changes
     * @param network makes a new network
     * @param batches of as many shapes, the largest last
     */
    record Kind(String name, Supplier<ComputationGraph> network, List<DataSet> batches) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static ComputationGraph network(InputType type, List<Layer> layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(1e-3))
                .list();
        layers.forEach(list::layer);
        return Networks.init(list.setInputType(type).build()).toComputationGraph();
    }

    private static ConvolutionLayer convolution(int kernel, int stride, int channels, Activation activation) {
        return new ConvolutionLayer.Builder(kernel, kernel)
                .stride(stride, stride)
                .nOut(channels)
                .convolutionMode(ConvolutionMode.Same)
                .activation(activation)
                .build();
    }

    /** Every way in which a layer has copies of its weights. */
    private static ComputationGraph ofImages() {
        List<Layer> layers = List.of(
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
                Networks.dense(512, Activation.RELU),
                Networks.softmax(3));
        return network(InputType.convolutional(12, 12, 3), layers);
    }

    private static ComputationGraph ofSequences() {
        List<Layer> layers = List.of(
                new LSTM.Builder().nOut(256).build(),
                new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(8)
                        .activation(Activation.TANH)
                        .build());
        return network(InputType.recurrent(64), layers);
    }

    private static DataSet images(int examples, int size) {
        return new DataSet(gaussian(new Random(size), 1, examples, 3, size, size), Networks.oneHot(examples, 3));
    }

    private static DataSet sequences(int examples, int steps) {
        Random random = new Random(steps);
        return new DataSet(gaussian(random, 1, examples, 64, steps), gaussian(random, 1, examples, 8, steps));
    }

    private static List<DataSet> shapes(IntFunction<DataSet> batch) {
        return IntStream.rangeClosed(1, SHAPES).mapToObj(batch).toList();
    }

    static Stream<Arguments> kinds() {
        List<Kind> ofRealSize = List.of(
                new Kind("batch sizes, residual", ResidualNetwork::init, shapes(n -> images(n, 16))),
                new Kind("sizes of images, residual", ResidualNetwork::init, shapes(n -> images(2, 16 + n))));
        List<Kind> small = List.of(
                new Kind("batch sizes", MemoryOfShapesTest::ofImages, shapes(n -> images(n, 12))),
                new Kind("sizes of images", MemoryOfShapesTest::ofImages, shapes(n -> images(2, 4 + n))),
                new Kind("lengths of sequences", MemoryOfShapesTest::ofSequences, shapes(n -> sequences(4, n))));
        return Types.precisions().stream().flatMap(precision -> Stream.of(
                        ofRealSize.stream().map(kind -> Arguments.of(kind, precision, 2)),
                        small.stream().map(kind -> Arguments.of(kind, precision, 2)),
                        small.stream().map(kind -> Arguments.of(kind, precision, 4)))
                .flatMap(arguments -> arguments));
    }

    /** Returns how much native memory a network holds after it was trained on some batches. */
    private static long heldAfter(Kind kind, Precision precision, List<DataSet> batches) {
        long before = AlignedMemory.held();
        AmpConfig config =
                AmpConfig.builder().precision(precision).engine("onednn").build();
        ComputationGraph network = kind.network().get();
        long held;
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            batches.forEach(network::fit);
            assertEquals(batches.size(), amp.stepsTaken());
            held = AlignedMemory.held() - before;
        }
        assertEquals(before, AlignedMemory.held(), "all is given back");
        return held;
    }

    /**
     * The orders of primitives depend on instruction set, number of threads and shape. Without AVX-512 a copy of the
     * weights for each order would take two to four times as much as one. With copies for each shape it would be ten
     * times.
     */
    @ParameterizedTest
    @MethodSource("kinds")
    void sixteenShapesTakeAtMostATenthMoreThanTheLargest(Kind kind, Precision precision, int threads) {
        int before = Work.threads();
        Work.setThreads(threads);
        try {
            long one = heldAfter(kind, precision, kind.batches().subList(SHAPES - 1, SHAPES));
            long all = heldAfter(kind, precision, kind.batches());
            assertTrue(one > 0);
            assertTrue(all <= 1.1 * one, () -> all + " bytes for " + SHAPES + " shapes, " + one + " for one");
        } finally {
            Work.setThreads(before);
        }
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
            SingleLayer.run(twin, input, gaussian(random, 1, 2, 4, 6, 6));
            assertEquals(made + 2, OneDnnContext.made(), "for the gradients of weights and input");
        }
    }
}
