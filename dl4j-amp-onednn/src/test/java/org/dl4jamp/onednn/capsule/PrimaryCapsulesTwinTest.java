package org.dl4jamp.onednn.capsule;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Primary capsules against DL4J's layer, and gradients against differences of their formula in double. */
class PrimaryCapsulesTwinTest {
    private static final double STEP = 1e-5;
    private static final int EXAMPLES = 3;

    /** A layer, and images for it. */
    record Form(String name, PrimaryCapsules layer, int channels, int height, int width) {
        static Form of(String name, PrimaryCapsules.Builder builder, int channels, int height, int width) {
            PrimaryCapsules layer = builder.build();
            layer.setNIn(InputType.convolutional(height, width, channels), true);
            assertEquals(
                    layer.isHasBias() ? 2 : 1,
                    layer.getLayerParams().getParamShapes().size());
            return new Form(name, layer, channels, height, width);
        }

        long parameters() {
            return layer.initializer().numParams(layer);
        }

        INDArray input(Random random) {
            return gaussian(random, 1, EXAMPLES, channels, height, width);
        }

        /** Returns parameters that make sums of about one. */
        INDArray parameters(Random random) {
            int[] kernel = layer.getKernelSize();
            return gaussian(random, 1 / Math.sqrt((double) channels * kernel[0] * kernel[1]), parameters());
        }

        INDArray epsilon(Random random) {
            return gaussian(random, 1, EXAMPLES, layer.getCapsules(), layer.getCapsuleDimensions());
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static PrimaryCapsules.Builder capsules(int dimensions, int channels, int kernel, int stride) {
        return new PrimaryCapsules.Builder(
                dimensions, channels, new int[] {kernel, kernel}, new int[] {stride, stride});
    }

    static Stream<Form> forms() {
        return Stream.of(
                Form.of("plain", capsules(4, 2, 3, 2), 3, 8, 8),
                Form.of("without bias", capsules(4, 2, 3, 2).hasBias(false), 3, 8, 8),
                Form.of("one of each", capsules(1, 1, 1, 1), 1, 2, 3),
                Form.of("ReLU", capsules(3, 2, 2, 1).useReLU(true), 4, 5, 6),
                Form.of("leaky ReLU", capsules(3, 2, 2, 1).useLeakyReLU(0.1), 4, 5, 6),
                Form.of("falling leaky ReLU", capsules(3, 2, 2, 1).useLeakyReLU(-0.4), 4, 5, 6),
                Form.of("Same", capsules(2, 3, 3, 2).convolutionMode(ConvolutionMode.Same), 3, 6, 5),
                Form.of("Same, gaps", capsules(2, 3, 1, 2).convolutionMode(ConvolutionMode.Same), 3, 6, 5),
                Form.of("padding", capsules(2, 3, 3, 2).padding(1, 2), 3, 6, 5),
                Form.of("Truncate", capsules(2, 3, 3, 2).padding(1, 0), 3, 7, 6),
                Form.of("dilation", capsules(2, 3, 2, 1).dilation(2, 3), 3, 6, 6),
                Form.of("oblong", new PrimaryCapsules.Builder(3, 3, new int[] {4, 2}, new int[] {1, 3}), 2, 7, 8),
                Form.of("padding alone", capsules(2, 2, 1, 3).padding(1, 1), 2, 1, 1));
    }

    @ParameterizedTest
    @MethodSource("forms")
    void itAgreesWithDl4js(Form form) {
        Random random = new Random(3);
        INDArray params = form.parameters(random);
        INDArray input = form.input(random);
        INDArray epsilon = form.epsilon(random);
        SingleLayer.Result expected = SingleLayer.run(SingleLayer.dl4j(form.layer, params), input.dup(), epsilon);
        for (DataType type : Types.here()) {
            // The gradient of the convolution's sums is rounded, which is one of few terms in some of these.
            double bound = type == DataType.FLOAT ? 1e-5 : 2 * Agreement.ROUNDING;
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, form.layer, params, type);
                assertInstanceOf(PrimaryCapsulesTwin.class, twin.twin().compute());
                SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
                Agreement.assertWithin(
                        type + " input gradient", expected.inputGradient(), actual.inputGradient(), bound);
                assertEquals(
                        expected.gradient().gradientForVariable().keySet(),
                        actual.gradient().gradientForVariable().keySet());
                expected.gradient()
                        .gradientForVariable()
                        .forEach((name, gradient) ->
                                Agreement.assertWithin(type + " " + name, gradient, actual.gradient(name), bound));
            }
        }
    }

    /** The formula in double, of numbers in the order of the layer's arrays. */
    private record Formula(Form form) {
        private int before(int axis, int size, int windows) {
            PrimaryCapsules layer = form.layer;
            int reach = (windows - 1) * layer.getStride()[axis] + extent(axis);
            return layer.getConvolutionMode() == ConvolutionMode.Same ? (reach - size) / 2 : layer.getPadding()[axis];
        }

        private int extent(int axis) {
            return (form.layer.getKernelSize()[axis] - 1) * form.layer.getDilation()[axis] + 1;
        }

        private int windows(int axis, int size) {
            PrimaryCapsules layer = form.layer;
            int stride = layer.getStride()[axis];
            return layer.getConvolutionMode() == ConvolutionMode.Same
                    ? (size + stride - 1) / stride
                    : (size + 2 * layer.getPadding()[axis] - extent(axis)) / stride + 1;
        }

        /** Returns one example's capsules. */
        double[] output(double[] x, int example, double[] parameters) {
            PrimaryCapsules layer = form.layer;
            int size = layer.getCapsuleDimensions();
            int nOut = layer.getChannels() * size;
            int rows = windows(0, form.height);
            int columns = windows(1, form.width);
            double[] capsules = new double[nOut * rows * columns];
            for (int out = 0; out < nOut; out++) {
                for (int row = 0; row < rows; row++) {
                    for (int column = 0; column < columns; column++) {
                        double sum = sum(
                                x,
                                example,
                                parameters,
                                out,
                                row * layer.getStride()[0] - before(0, form.height, rows),
                                column * layer.getStride()[1] - before(1, form.width, columns));
                        boolean negative = layer.isUseRelu() && sum < 0;
                        capsules[(out * rows + row) * columns + column] = negative ? layer.getLeak() * sum : sum;
                    }
                }
            }
            for (int begin = 0; begin < capsules.length; begin += size) {
                double square = 0;
                for (int i = begin; i < begin + size; i++) {
                    square += capsules[i] * capsules[i];
                }
                for (int i = begin; i < begin + size; i++) {
                    capsules[i] *= square / (1 + square) / Math.sqrt(square + 1e-5);
                }
            }
            return capsules;
        }

        private double sum(double[] x, int example, double[] parameters, int out, int top, int left) {
            PrimaryCapsules layer = form.layer;
            int nOut = layer.getChannels() * layer.getCapsuleDimensions();
            int[] kernel = layer.getKernelSize();
            double sum = layer.isHasBias() ? parameters[kernel[0] * kernel[1] * form.channels * nOut + out] : 0;
            for (int i = 0; i < kernel[0]; i++) {
                for (int j = 0; j < kernel[1]; j++) {
                    int row = top + i * layer.getDilation()[0];
                    int column = left + j * layer.getDilation()[1];
                    if (row < 0 || row >= form.height || column < 0 || column >= form.width) {
                        continue;
                    }
                    for (int in = 0; in < form.channels; in++) {
                        double weight = parameters[((i * kernel[1] + j) * form.channels + in) * nOut + out];
                        sum += weight * x[((example * form.channels + in) * form.height + row) * form.width + column];
                    }
                }
            }
            return sum;
        }
    }

    @ParameterizedTest
    @MethodSource("forms")
    void outputsAndGradientsAreThoseOfTheFormula(Form form) {
        Formula formula = new Formula(form);
        Random random = new Random(9);
        INDArray params = form.parameters(random);
        INDArray input = form.input(random);
        INDArray epsilon = form.epsilon(random);
        double[] x = doubles(input);
        double[] parameters = doubles(params);
        double[] above = doubles(epsilon);
        ToDoubleFunction<double[][]> loss = arguments -> {
            double sum = 0;
            for (int example = 0; example < EXAMPLES; example++) {
                double[] output = formula.output(arguments[0], example, arguments[1]);
                for (int i = 0; i < output.length; i++) {
                    sum += above[example * output.length + i] * output[i];
                }
            }
            return sum * ExternalErrors.factor();
        };
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, form.layer, params, DataType.FLOAT);
            SingleLayer.Result actual = SingleLayer.run(twin, input, epsilon);
            double[] outputs = new double[above.length];
            int each = above.length / EXAMPLES;
            for (int example = 0; example < EXAMPLES; example++) {
                System.arraycopy(formula.output(x, example, parameters), 0, outputs, example * each, each);
            }
            Agreement.assertWithin("output", array(outputs, actual.output()), actual.output(), 1e-5);
            Agreement.assertWithin(
                    "input gradient", array(differences(loss, 0, x, parameters), input), actual.inputGradient(), 1e-5);
            Agreement.assertWithin(
                    "gradients",
                    array(differences(loss, 1, x, parameters), params),
                    twin.getGradientsViewArray().reshape(params.length()),
                    1e-5);
        }
    }

    private static double[] differences(ToDoubleFunction<double[][]> loss, int which, double[]... arguments) {
        double[] gradient = new double[arguments[which].length];
        for (int i = 0; i < gradient.length; i++) {
            double value = arguments[which][i];
            arguments[which][i] = value + STEP;
            double more = loss.applyAsDouble(arguments);
            arguments[which][i] = value - STEP;
            gradient[i] = (more - loss.applyAsDouble(arguments)) / (2 * STEP);
            arguments[which][i] = value;
        }
        return gradient;
    }

    private static double[] doubles(INDArray array) {
        return array.castTo(DataType.DOUBLE).dup('c').data().asDouble();
    }

    private static INDArray array(double[] numbers, INDArray like) {
        return Nd4j.createFromArray(numbers).reshape('c', like.shape());
    }

    /** Stock DL4J makes other examples of images of another size. */
    static Stream<long[]> wrong() {
        return Stream.of(
                new long[] {2, 4, 8, 8}, new long[] {2, 3, 2, 2}, new long[] {2, 3, 8}, new long[] {2, 3, 9, 13});
    }

    @ParameterizedTest
    @MethodSource("wrong")
    void inputOfAnotherShapeIsRejected(long... shape) {
        Form form = Form.of("plain", capsules(4, 2, 3, 2), 3, 8, 8);
        INDArray params = form.parameters(new Random(1));
        INDArray input = Nd4j.ones(DataType.FLOAT, shape);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, form.layer, params, DataType.FLOAT);
            assertThrows(RuntimeException.class, () -> twin.activate(input, false, LayerWorkspaceMgr.noWorkspaces()));
        }
    }
}
