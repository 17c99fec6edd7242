package org.dl4jamp.onednn.twin;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.dropout.GaussianDropout;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.normalization.LrnTwin;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationELU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Activation and pooling layers. */
class LayersWithoutParametersTest {
    /** ND4J's derivative of ELU takes no notice of alpha. */
    @Test
    void eluHasItsTrueDerivativeWhateverItsAlpha() {
        INDArray input = Layers.gaussian(new Random(1), 1, 4, 5);
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            for (double alpha : new double[] {0.5, 1, 2}) {
                org.deeplearning4j.nn.api.Layer twin =
                        Layers.twin(session, new ActivationLayer(new ActivationELU(alpha)), null, DataType.FLOAT);
                INDArray gradient = SingleLayer.run(twin, input, Nd4j.ones(DataType.FLOAT, 4, 5))
                        .inputGradient();
                for (long i = 0; i < input.length(); i++) {
                    double x = input.getDouble(i);
                    assertEquals(x > 0 ? 1 : alpha * Math.exp(x), gradient.getDouble(i), 1e-5, "alpha " + alpha);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Activation.class,
            names = {
                "RELU",
                "LEAKYRELU",
                "TANH",
                "SIGMOID",
                "ELU",
                "GELU",
                "SWISH",
                "SOFTPLUS",
                "MISH",
                "CUBE",
                "HARDSIGMOID",
                "HARDTANH",
                "RELU6",
                "IDENTITY",
                "SELU",
                "SOFTSIGN",
                "RATIONALTANH",
                "RECTIFIEDTANH",
                "THRESHOLDEDRELU"
            })
    void activationFunctionsAgreeWithDl4js(Activation activation) {
        for (long[] shape : new long[][] {{3, 5}, {2, 3, 4}, {2, 7, 3, 5}, {1, 2, 3, 2, 2}}) {
            check(new ActivationLayer(activation), shape, new Random(shape.length));
        }
    }

    @ParameterizedTest
    @CsvSource({
        // pooling, kernel, stride, padding, dilation, mode, divisor includes padding
        "MAX, 2, 2, 2, 2, 0, 0, 1, Truncate, false",
        "MAX, 3, 2, 1, 2, 1, 0, 1, Truncate, false",
        "MAX, 3, 3, 2, 2, 0, 0, 1, Same, false",
        "MAX, 2, 2, 1, 1, 0, 0, 2, Truncate, false",
        "AVG, 2, 2, 2, 2, 0, 0, 1, Truncate, false",
        "AVG, 3, 3, 2, 1, 1, 1, 1, Truncate, false",
        "AVG, 3, 3, 2, 1, 1, 1, 1, Truncate, true",
        "AVG, 3, 2, 2, 2, 0, 0, 1, Same, false"
    })
    void poolingAgreesWithDl4js(
            PoolingType pooling,
            int kernelHeight,
            int kernelWidth,
            int strideHeight,
            int strideWidth,
            int paddingHeight,
            int paddingWidth,
            int dilation,
            ConvolutionMode mode,
            boolean includePadding) {
        SubsamplingLayer conf = new SubsamplingLayer.Builder(pooling)
                .kernelSize(kernelHeight, kernelWidth)
                .stride(strideHeight, strideWidth)
                .padding(paddingHeight, paddingWidth)
                .dilation(dilation, dilation)
                .convolutionMode(mode)
                .avgPoolIncludePadInDivisor(includePadding)
                .build();
        check(conf, new long[] {2, 3, 7, 8}, new Random(kernelHeight));
    }

    @Property(tries = 30)
    void localResponseNormalizationAgreesWithDl4js(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int batch,
            @ForAll @IntRange(min = 6, max = 40) int channels,
            @ForAll @IntRange(min = 0, max = 11) int neighbours,
            @ForAll @DoubleRange(min = 0.1, max = 1) double beta,
            @ForAll boolean last) {
        LocalResponseNormalization conf = new LocalResponseNormalization.Builder(2, neighbours, 1e-4, beta)
                .dataFormat(last ? CNN2DFormat.NHWC : CNN2DFormat.NCHW)
                .build();
        Random random = new Random(seed);
        long[] shape = last ? new long[] {batch, 3, 5, channels} : new long[] {batch, channels, 3, 5};
        TwinCheck.of(conf, LrnTwin.class, random).agrees(gaussian(random, 1, shape));
    }

    /** Against the formula in double precision: DL4J's own gradient is off by up to a hundredth. */
    @Test
    void localResponseNormalizationHasTheGradientOfItsFormula() {
        for (int channels : new int[] {11, 16, 17, 40}) {
            for (int neighbours : new int[] {1, 2, 3, 5, 7, 9, 21}) {
                LocalResponseNormalization conf =
                        new LocalResponseNormalization.Builder(2, neighbours, 0.3, 0.75).build();
                INDArray input = gaussian(new Random(1), 1, 2, channels, 4, 4);
                INDArray epsilon = gaussian(new Random(2), 1, 2, channels, 4, 4);
                try (EngineSession session = new OneDnnEngine().session(0, true)) {
                    TwinLayer twin = Layers.twin(session, conf, null, DataType.FLOAT);
                    assertInstanceOf(LrnTwin.class, twin.twin().compute());
                    SingleLayer.Result actual = SingleLayer.run(twin, input, epsilon);
                    INDArray[] expected = normalized(input, epsilon, neighbours / 2);
                    Agreement.assertWithin("output", expected[0], actual.output(), 1e-5);
                    Agreement.assertWithin("input gradient", expected[1], actual.inputGradient(), 1e-5);
                }
            }
        }
    }

    /** {@code y = x * s^-0.75} with {@code s = 2 + 0.3 * (sum of squares of the neighbours)}, and its gradient. */
    private static INDArray[] normalized(INDArray input, INDArray epsilon, int reach) {
        INDArray output = Nd4j.create(DataType.DOUBLE, input.shape());
        INDArray gradient = Nd4j.create(DataType.DOUBLE, input.shape());
        int channels = (int) input.size(1);
        for (int n = 0; n < input.size(0); n++) {
            for (int h = 0; h < input.size(2); h++) {
                for (int w = 0; w < input.size(3); w++) {
                    double[] sums = new double[channels];
                    for (int c = 0; c < channels; c++) {
                        sums[c] = 2;
                        for (int d = Math.max(0, c - reach); d <= Math.min(channels - 1, c + reach); d++) {
                            sums[c] += 0.3 * Math.pow(input.getDouble(n, d, h, w), 2);
                        }
                    }
                    for (int c = 0; c < channels; c++) {
                        double x = input.getDouble(n, c, h, w);
                        double factor = Math.pow(sums[c], -0.75);
                        double sum = 0;
                        for (int d = Math.max(0, c - reach); d <= Math.min(channels - 1, c + reach); d++) {
                            sum += epsilon.getDouble(n, d, h, w)
                                    * input.getDouble(n, d, h, w)
                                    * Math.pow(sums[d], -1.75);
                        }
                        output.putScalar(new int[] {n, c, h, w}, x * factor);
                        gradient.putScalar(
                                new int[] {n, c, h, w},
                                epsilon.getDouble(n, c, h, w) * factor - 2 * 0.3 * 0.75 * x * sum);
                    }
                }
            }
        }
        return new INDArray[] {output, gradient};
    }

    /** DL4J's layer throws at neighbours that are as far away as there are channels. */
    @Test
    void localResponseNormalizationBeyondTheChannelsThrowsWhatDl4jThrows() {
        INDArray input = gaussian(new Random(1), 1, 2, 3, 4, 4);
        for (int neighbours : new int[] {4, 5, 6, 7, 8, 9, 20}) {
            LocalResponseNormalization conf = new LocalResponseNormalization.Builder(2, neighbours, 0.3, 0.75).build();
            Optional<String> stock = thrown(SingleLayer.dl4j(conf, null), input);
            try (EngineSession session = new OneDnnEngine().session(0, true)) {
                assertEquals(stock, thrown(Layers.twin(session, conf, null, DataType.FLOAT), input));
            }
        }
    }

    private static Optional<String> thrown(org.deeplearning4j.nn.api.Layer layer, INDArray input) {
        try {
            layer.activate(input.dup(), true, LayerWorkspaceMgr.noWorkspaces());
            return Optional.empty();
        } catch (RuntimeException e) {
            return Optional.of(e.toString());
        }
    }

    @Test
    void dropoutLayersDrawDl4jsNumbers() {
        for (Layer conf : List.of(new DropoutLayer(0.6), new DropoutLayer.Builder(new GaussianDropout(0.3)).build())) {
            for (DataType type : Types.here()) {
                INDArray input = gaussian(new Random(1), 1, 4, 7, 3, 3);
                INDArray epsilon = gaussian(new Random(2), 1, 4, 7, 3, 3);
                Nd4j.getRandom().setSeed(7);
                org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, null);
                SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon);
                Nd4j.getRandom().setSeed(7);
                try (EngineSession session = new OneDnnEngine().session(0, true)) {
                    TwinLayer twin = Layers.twin(session, conf, null, type);
                    assertInstanceOf(DropoutTwin.class, twin.twin().compute());
                    SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                    Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
                    Agreement.assertRoundedOnce(type + " input", expected.inputGradient(), actual.inputGradient());
                }
            }
        }
    }

    private static void check(Layer conf, long[] shape, Random random) {
        INDArray input = distinct(gaussian(random, 1, shape));
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, null);
        long[] output = dl4j.activate(input.dup(), true, LayerWorkspaceMgr.noWorkspaces())
                .shape();
        INDArray epsilon = gaussian(random, 1, output);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(0, true)) {
                SingleLayer.Result actual = SingleLayer.run(
                        Layers.twin(session, conf, null, type), input.castTo(type), epsilon.castTo(type));
                Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
                Agreement.assertRoundedOnce(type + " input", expected.inputGradient(), actual.inputGradient());
            }
        }
    }

    /** Different BFLOAT16 numbers, so that every maximum has one place. */
    private static INDArray distinct(INDArray array) {
        for (long i = 0; i < array.length(); i++) {
            float base = (float) ((i * 37 % array.length()) - array.length() / 2.0 + 0.5);
            array.putScalar(i, array.rank() == 4 ? Layers.rounded(base / 128) : array.getFloat(i));
        }
        return array;
    }

    @Test
    void onlyLayersThatAreCoveredHaveTwins() {
        assertFalse(new OneDnnEngine()
                .cannot(new ActivationLayer(Activation.TANH), Precision.BFLOAT16)
                .isPresent());
        assertEquals(
                "it has no kernel for PNORM pooling with p = 1, only 2 to 8",
                new OneDnnEngine()
                        .cannot(
                                new SubsamplingLayer.Builder(PoolingType.PNORM)
                                        .pnorm(1)
                                        .build(),
                                Precision.BFLOAT16)
                        .orElseThrow());
    }
}
