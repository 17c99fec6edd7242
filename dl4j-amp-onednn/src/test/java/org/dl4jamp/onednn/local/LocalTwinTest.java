package org.dl4jamp.onednn.local;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.samediff.SDLayerParams;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.StockTraining;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Layers with weights of their own for each window. */
class LocalTwinTest {
    /** A layer and the shape of its input. */
    record Form(String name, SameDiffLayer layer, List<Long> shape) {
        INDArray input(Random random) {
            return gaussian(random, 1, shape.stream().mapToLong(Long::longValue).toArray());
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Form> forms() {
        return Stream.of(
                sequences("sequences", 3, 1, 0, ConvolutionMode.Truncate, true, Activation.TANH),
                sequences("strided sequences", 2, 2, 0, ConvolutionMode.Same, false, Activation.SIGMOID),
                sequences("padded sequences", 3, 2, 1, ConvolutionMode.Truncate, true, Activation.IDENTITY),
                images("images", CNN2DFormat.NCHW, ConvolutionMode.Truncate, 0, 5, 5, Activation.RELU),
                images("wide images", CNN2DFormat.NCHW, ConvolutionMode.Truncate, 0, 5, 7, Activation.TANH),
                images(
                        "images with channels last",
                        CNN2DFormat.NHWC,
                        ConvolutionMode.Truncate,
                        0,
                        6,
                        5,
                        Activation.TANH),
                images("padded images", CNN2DFormat.NCHW, ConvolutionMode.Truncate, 1, 4, 5, Activation.SOFTPLUS),
                images("images in Same", CNN2DFormat.NHWC, ConvolutionMode.Same, 0, 4, 5, Activation.TANH));
    }

    private static Form sequences(
            String name, int kernel, int stride, int padding, ConvolutionMode mode, boolean bias, Activation function) {
        LocallyConnected1D layer = new LocallyConnected1D.Builder()
                .kernelSize(kernel)
                .stride(stride)
                .padding(padding)
                .convolutionMode(mode)
                .nIn(4)
                .nOut(5)
                .setInputSize(9)
                .hasBias(bias)
                .activation(function)
                .build();
        layer.computeOutputSize();
        return new Form(name, defined(layer), List.of(3L, 4L, 9L));
    }

    private static Form images(
            String name,
            CNN2DFormat format,
            ConvolutionMode mode,
            int padding,
            int height,
            int width,
            Activation function) {
        LocallyConnected2D layer = new LocallyConnected2D.Builder()
                .kernelSize(2, 3)
                .stride(1, 2)
                .padding(padding, padding)
                .convolutionMode(mode)
                .nIn(3)
                .nOut(4)
                .setInputSize(height, width)
                .dataFormat(format)
                .activation(function)
                .build();
        layer.computeOutputSize();
        long rows = height;
        long columns = width;
        List<Long> shape = format == CNN2DFormat.NCHW ? List.of(2L, 3L, rows, columns) : List.of(2L, rows, columns, 3L);
        return new Form(name, defined(layer), shape);
    }

    private static <L extends SameDiffLayer> L defined(L layer) {
        SDLayerParams params = layer.getLayerParams();
        assertTrue(!params.getParamShapes().isEmpty());
        return layer;
    }

    @ParameterizedTest
    @MethodSource("forms")
    void itAgreesWithDl4js(Form form) {
        Random random = new Random(3);
        long number = form.layer.initializer().numParams(form.layer);
        INDArray params = gaussian(random, 0.3, number);
        INDArray input = form.input(random);
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(form.layer, params);
        INDArray epsilon = gaussian(
                random,
                1,
                dl4j.activate(input.dup(), true, LayerWorkspaceMgr.noWorkspaces())
                        .shape());
        SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon);
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(number, true)) {
                TwinLayer twin = Layers.twin(session, form.layer, params, type);
                assertInstanceOf(LocalTwin.class, twin.twin().compute());
                SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
                Agreement.assertRoundedOnce(type + " input", expected.inputGradient(), actual.inputGradient());
                assertEquals(
                        expected.gradient().gradientForVariable().keySet(),
                        actual.gradient().gradientForVariable().keySet());
                expected.gradient()
                        .gradientForVariable()
                        .forEach((name, gradient) ->
                                Agreement.assertWithin(type + " " + name, gradient, actual.gradient(name), 1e-5));
            }
        }
    }

    /** By double differences of the outputs of DL4J's layer, but for SameDiff's factor. */
    @Test
    void gradientsAreDerivatives() {
        Form form = images("images", CNN2DFormat.NCHW, ConvolutionMode.Truncate, 1, 4, 5, Activation.TANH);
        Random random = new Random(4);
        long number = form.layer.initializer().numParams(form.layer);
        INDArray params = gaussian(random, 0.3, number);
        INDArray input = form.input(random);
        try (EngineSession session = new OneDnnEngine().session(number, true)) {
            TwinLayer twin = Layers.twin(session, form.layer, params, DataType.FLOAT);
            INDArray output =
                    twin.activate(input, true, LayerWorkspaceMgr.noWorkspaces()).dup();
            INDArray epsilon = gaussian(random, 1, output.shape());
            INDArray gradient = SingleLayer.run(twin, input, epsilon).inputGradient();
            double step = 1e-2;
            for (long i = 0; i < input.length(); i += 7) {
                double[] sums = new double[2];
                for (int side = 0; side < 2; side++) {
                    INDArray moved = input.dup();
                    moved.putScalar(i, input.getFloat(i) + (side == 0 ? step : -step));
                    sums[side] = SingleLayer.dl4j(form.layer, params)
                            .activate(moved, true, LayerWorkspaceMgr.noWorkspaces())
                            .castTo(DataType.DOUBLE)
                            .mul(epsilon.castTo(DataType.DOUBLE))
                            .sumNumber()
                            .doubleValue();
                }
                assertEquals(
                        ExternalErrors.factor() * (sums[0] - sums[1]) / (2 * step),
                        gradient.dup('c').getDouble(i),
                        2e-3);
            }
        }
    }

    private static MultiLayerNetwork network(CNN2DFormat format) {
        return Networks.init(Networks.builder(new Sgd(0.02))
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(6)
                        .dataFormat(format)
                        .activation(Activation.TANH)
                        .build())
                .layer(new LocallyConnected2D.Builder()
                        .kernelSize(2, 2)
                        .stride(1, 1)
                        .convolutionMode(ConvolutionMode.Truncate)
                        .dataFormat(format)
                        .nOut(5)
                        .activation(Activation.TANH)
                        .build())
                .layer(new ConvolutionLayer.Builder(2, 2)
                        .nOut(4)
                        .dataFormat(format)
                        .activation(Activation.TANH)
                        .build())
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(8, 8, 3, format))
                .build());
    }

    @ParameterizedTest
    @EnumSource(CNN2DFormat.class)
    void networksTrainAndComputeAsInStockDl4j(CNN2DFormat format) {
        StockTraining.assertAgrees(network(format), format, 0);
    }

    @Test
    void inputOfAnotherShapeIsRejected() {
        Form form = images("images", CNN2DFormat.NCHW, ConvolutionMode.Truncate, 0, 5, 5, Activation.RELU);
        long number = form.layer.initializer().numParams(form.layer);
        INDArray params = gaussian(new Random(1), 1, number);
        INDArray input = Nd4j.ones(DataType.FLOAT, 2, 4, 5, 5);
        assertThrows(RuntimeException.class, () -> SingleLayer.run(SingleLayer.dl4j(form.layer, params), input, input));
        try (EngineSession session = new OneDnnEngine().session(number, true)) {
            TwinLayer twin = Layers.twin(session, form.layer, params, DataType.FLOAT);
            assertThrows(RuntimeException.class, () -> SingleLayer.run(twin, input, input));
        }
    }
}
