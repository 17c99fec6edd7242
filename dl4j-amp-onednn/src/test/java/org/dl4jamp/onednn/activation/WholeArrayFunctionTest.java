package org.dl4jamp.onednn.activation;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.BaseActivationFunction;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Functions whose values depend on more than one sum, or on random numbers, behind each kind of layer: what the twin
 * returns is what DL4J's layer returns, exceptions included.
 */
class WholeArrayFunctionTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    /** A kind of layer, of any function, and the shape of its input. */
    private record Kind(
            String name, Function<IActivation, org.deeplearning4j.nn.conf.layers.Layer> layer, List<Long> sizes) {
        Kind(String name, Function<IActivation, org.deeplearning4j.nn.conf.layers.Layer> layer, long... shape) {
            this(name, layer, Arrays.stream(shape).boxed().toList());
        }

        boolean takesIndices() {
            return name.startsWith("embedding");
        }

        /** Returns whether an array is cast to FP32 in front of it, and its products aren't rounded. */
        boolean isInFloat() {
            return takesIndices() || name.equals("deconvolution of volumes");
        }

        INDArray input(Random random) {
            INDArray input = gaussian(
                    random, 1, sizes.stream().mapToLong(Long::longValue).toArray());
            if (takesIndices()) {
                for (long i = 0; i < input.length(); i++) {
                    input.putScalar(i, random.nextInt(5));
                }
            }
            return input;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Kind> kinds() {
        return Stream.of(List.of(vectors()), List.of(images()), List.of(others()), List.of(activations()))
                .flatMap(List::stream);
    }

    private static Kind[] vectors() {
        return new Kind[] {
            new Kind(
                    "dense",
                    f -> new DenseLayer.Builder().nIn(5).nOut(6).activation(f).build(),
                    4,
                    5),
            new Kind(
                    "dense with layer normalization",
                    f -> new DenseLayer.Builder()
                            .nIn(5)
                            .nOut(6)
                            .hasLayerNorm(true)
                            .activation(f)
                            .build(),
                    4,
                    5),
            new Kind(
                    "embedding",
                    f -> new EmbeddingLayer.Builder()
                            .nIn(5)
                            .nOut(6)
                            .activation(f)
                            .build(),
                    7,
                    1),
            new Kind("embedding of sequences", f -> sequences(RNNFormat.NCW, f), 3, 4),
            new Kind("embedding of sequences, features last", f -> sequences(RNNFormat.NWC, f), 3, 4)
        };
    }

    private static EmbeddingSequenceLayer sequences(RNNFormat format, IActivation function) {
        return new EmbeddingSequenceLayer.Builder()
                .nIn(5)
                .nOut(6)
                .inputLength(4)
                .outputDataFormat(format)
                .activation(function)
                .build();
    }

    private static Kind[] images() {
        return Stream.of(CNN2DFormat.values())
                .flatMap(format -> {
                    long[] shape = format == CNN2DFormat.NCHW ? new long[] {2, 3, 5, 4} : new long[] {2, 5, 4, 3};
                    return Stream.of(
                            new Kind(
                                    "convolution " + format,
                                    f -> new ConvolutionLayer.Builder(2, 2)
                                            .nIn(3)
                                            .nOut(6)
                                            .dataFormat(format)
                                            .activation(f)
                                            .build(),
                                    shape),
                            new Kind(
                                    "deconvolution " + format,
                                    f -> new Deconvolution2D.Builder(2, 2)
                                            .nIn(3)
                                            .nOut(6)
                                            .dataFormat(format)
                                            .activation(f)
                                            .build(),
                                    shape),
                            new Kind(
                                    "depthwise " + format,
                                    f -> new DepthwiseConvolution2D.Builder(2, 2)
                                            .nIn(3)
                                            .nOut(6)
                                            .depthMultiplier(2)
                                            .dataFormat(format)
                                            .activation(f)
                                            .build(),
                                    shape),
                            new Kind(
                                    "separable " + format,
                                    f -> new SeparableConvolution2D.Builder(2, 2)
                                            .nIn(3)
                                            .nOut(6)
                                            .dataFormat(format)
                                            .activation(f)
                                            .build(),
                                    shape));
                })
                .toArray(Kind[]::new);
    }

    private static Kind[] others() {
        return new Kind[] {
            new Kind(
                    "convolution of sequences",
                    f -> new Convolution1DLayer.Builder(2)
                            .nIn(3)
                            .nOut(6)
                            .activation(f)
                            .build(),
                    2,
                    3,
                    5),
            new Kind(
                    "convolution of volumes",
                    f -> new Convolution3D.Builder(2, 2, 2)
                            .nIn(3)
                            .nOut(6)
                            .activation(f)
                            .build(),
                    2,
                    3,
                    4,
                    5,
                    3),
            new Kind(
                    "convolution of volumes, channels last",
                    f -> new Convolution3D.Builder(2, 2, 2)
                            .nIn(3)
                            .nOut(6)
                            .dataFormat(Convolution3D.DataFormat.NDHWC)
                            .activation(f)
                            .build(),
                    2,
                    4,
                    5,
                    3,
                    3),
            new Kind(
                    "deconvolution of volumes",
                    f -> new Deconvolution3D.Builder()
                            .kernelSize(2, 2, 2)
                            .nIn(3)
                            .nOut(6)
                            .activation(f)
                            .build(),
                    2,
                    3,
                    4,
                    3,
                    2)
        };
    }

    private static Kind[] activations() {
        return Stream.of(new long[] {4, 6}, new long[] {2, 6, 5}, new long[] {2, 6, 3, 4}, new long[] {2, 6, 3, 2, 4})
                .map(shape -> new Kind("activation of rank " + shape.length, ActivationLayer::new, shape))
                .toArray(Kind[]::new);
    }

    private static ActivationPReLU prelu(long[] shape) {
        long[] slopes = Arrays.copyOfRange(shape, 1, shape.length);
        return new ActivationPReLU(gaussian(new Random(3), 0.3, slopes), null);
    }

    private static ActivationPReLU sharedPrelu(long[] shape) {
        long[] slopes = Arrays.copyOfRange(shape, 1, shape.length);
        long[] shared = new long[slopes.length - 1];
        for (int axis = 1; axis < slopes.length; axis++) {
            slopes[axis] = 1;
            shared[axis - 1] = axis + 1L;
        }
        return new ActivationPReLU(gaussian(new Random(3), 0.3, slopes), shared);
    }

    private static Stream<IActivation> functions(long[] outputShape) {
        return Stream.of(
                Activation.SOFTMAX.getActivationFunction(),
                prelu(outputShape),
                sharedPrelu(outputShape),
                new ActivationRReLU(0.1, 0.9),
                new UsersFunctions.Scaled(1.5, 0.7),
                new UsersFunctions.Centered(),
                new UsersFunctions.Keeping(),
                new UsersFunctions.Gated());
    }

    /** The result of both passes, or the class and message of what they threw. */
    private static Object outcome(Layer layer, INDArray input, INDArray epsilon) {
        Nd4j.getRandom().setSeed(5);
        try {
            return SingleLayer.run(layer, input, epsilon);
        } catch (RuntimeException e) {
            return e.getClass().getName();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void givesWhatDl4jsLayerGives(Kind kind) {
        Random random = new Random(7);
        INDArray input = kind.input(random);
        var identity = kind.layer.apply(Activation.IDENTITY.getActivationFunction());
        long number = identity.initializer().numParams(identity);
        INDArray params = number == 0 ? null : gaussian(random, 0.5, number);
        long[] sums = SingleLayer.dl4j(identity, params)
                .activate(input.dup(), true, NONE)
                .shape();
        functions(sums).forEach(function -> {
            var conf = kind.layer.apply(function);
            INDArray probe = kind.takesIndices() ? input : input.dup();
            long[] shape =
                    SingleLayer.dl4j(conf, params).activate(probe, true, NONE).shape();
            INDArray epsilon = gaussian(new Random(9), 1, shape);
            Object expected = outcome(SingleLayer.dl4j(conf, params), input.dup(), epsilon);
            // The derivative of DL4J's convolution has other axes than the function, if the channels come last.
            boolean hasOtherAxes = kind.name.equals("convolution NHWC") || function instanceof ActivationPReLU;
            assertTrue(expected instanceof SingleLayer.Result || hasOtherAxes, kind.name);
            for (DataType type : kind.isInFloat() ? List.of(DataType.FLOAT) : Types.here()) {
                String what = kind + ", " + function.getClass().getSimpleName() + ", " + type;
                Precision precision = type == DataType.FLOAT ? Precision.FLOAT : Precision.BFLOAT16;
                assertTrue(new OneDnnEngine().cannot(conf, precision).isEmpty(), what);
                try (EngineSession session = new OneDnnEngine().session(params == null ? 0 : params.length(), true)) {
                    TwinLayer twin = Layers.twin(session, conf, params, type);
                    Object actual = outcome(twin, input.castTo(type), epsilon.castTo(type));
                    compare(what, type, expected, actual, epsilon);
                }
            }
        });
    }

    private static void compare(String what, DataType type, Object expected, Object actual, INDArray epsilon) {
        if (!(expected instanceof SingleLayer.Result stock) || !(actual instanceof SingleLayer.Result twin)) {
            assertEquals(expected, actual, what);
            return;
        }
        assertEquals(type, twin.output().dataType(), what);
        // Between its two products a separable convolution rounds.
        boolean once = !what.startsWith("separable");
        if (once) {
            Agreement.assertRoundedOnce(what + ", output", stock.output(), twin.output());
        }
        assertWithin(what + ", output", type, stock.output(), twin.output(), 0);
        // The gradient of the sums is rounded, and then its products are. What would be zero is made of rounding.
        double magnitude = epsilon.norm2Number().doubleValue();
        if (stock.inputGradient() != null) {
            assertWithin(what + ", input gradient", type, stock.inputGradient(), twin.inputGradient(), magnitude);
        }
        stock.gradient()
                .gradientForVariable()
                .forEach((name, gradient) -> assertWithin(
                        what + ", " + name, type, gradient, twin.gradient().getGradientFor(name), magnitude));
    }

    private static void assertWithin(String what, DataType type, INDArray expected, INDArray actual, double magnitude) {
        double error = type == DataType.FLOAT ? 1e-5 : 3 * Agreement.ROUNDING;
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double difference = expected.castTo(DataType.DOUBLE)
                .sub(actual.castTo(DataType.DOUBLE))
                .norm2Number()
                .doubleValue();
        double bound = error * Math.max(magnitude, expected.norm2Number().doubleValue());
        assertTrue(difference <= bound, what + ": " + difference + " > " + bound);
    }

    /** DL4J masks the sums, too: a function that mixes examples takes zeros for those that are masked. */
    @Test
    void sumsOfMaskedExamplesAreZerosAsInDl4j() {
        IActivation function = new UsersFunctions.AcrossExamples();
        DenseLayer conf =
                new DenseLayer.Builder().nIn(3).nOut(4).activation(function).build();
        Random random = new Random(2);
        INDArray params = gaussian(random, 1, conf.initializer().numParams(conf));
        INDArray input = gaussian(random, 1, 5, 3);
        INDArray epsilon = gaussian(random, 1, 5, 4);
        INDArray mask = Nd4j.createFromArray(1f, 0, 1, 1, 0).reshape(5, 1);
        Layer stock = SingleLayer.dl4j(conf, params);
        stock.setMaskArray(mask);
        SingleLayer.Result expected = SingleLayer.run(stock, input, epsilon);
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                twin.setMaskArray(mask);
                compare(
                        "masked " + type,
                        type,
                        expected,
                        outcome(twin, input.castTo(type), epsilon.castTo(type)),
                        epsilon);
            }
        }
    }

    /** RReLU's positions are those of DL4J's axes, whatever the order in memory. */
    @Test
    void slopesAreDrawnInTheOrderOfDl4j() {
        ActivationRReLU function = new ActivationRReLU(0.1, 0.9);
        ConvolutionLayer conf = new ConvolutionLayer.Builder(1, 1)
                .nIn(2)
                .nOut(3)
                .activation(function)
                .build();
        INDArray params = gaussian(new Random(1), 1, conf.initializer().numParams(conf));
        INDArray input = gaussian(new Random(2), 1, 2, 2, 4, 3);
        Nd4j.getRandom().setSeed(11);
        SingleLayer.dl4j(conf, params).activate(input.dup(), true, NONE);
        float[] expected = function.getAlpha().dup('c').data().asFloat();
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            Nd4j.getRandom().setSeed(11);
            Layers.twin(session, conf, params, Types.half()).activate(input.castTo(Types.half()), true, NONE);
        }
        assertArrayEquals(new long[] {2, 3, 4, 3}, function.getAlpha().shape());
        assertArrayEquals(expected, function.getAlpha().dup('c').data().asFloat());
    }

    /** DL4J's layer writes beyond the end of its gradient of the bias then. */
    @Test
    void aGradientOfAnotherShapeIsRefused() {
        IActivation function = new BaseActivationFunction() {
            private static final long serialVersionUID = 1L;

            @Override
            public INDArray getActivation(INDArray in, boolean training) {
                return in;
            }

            @Override
            public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
                return new Pair<>(epsilon.reshape(1, epsilon.length()), null);
            }
        };
        DenseLayer conf =
                new DenseLayer.Builder().nIn(3).nOut(4).activation(function).build();
        INDArray params = gaussian(new Random(1), 1, conf.initializer().numParams(conf));
        INDArray input = gaussian(new Random(2), 1, 5, 3);
        INDArray epsilon = gaussian(new Random(3), 1, 5, 4);
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            Layer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            assertEquals(IllegalStateException.class.getName(), outcome(twin, input, epsilon));
        }
    }
}
