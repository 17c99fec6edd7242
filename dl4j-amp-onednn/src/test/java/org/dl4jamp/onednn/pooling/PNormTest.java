package org.dl4jamp.onednn.pooling;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.StockTraining;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** P-norms of windows. */
class PNormTest {
    private static int[] pair(Random random, int least, int most) {
        return new int[] {least + random.nextInt(most - least + 1), least + random.nextInt(most - least + 1)};
    }

    @Property(tries = 60)
    void ofImagesAgreeWithDl4js(
            @ForAll long seed,
            @ForAll @IntRange(min = 2, max = 8) int p,
            @ForAll @IntRange(min = 1, max = 3) int batch,
            @ForAll @IntRange(min = 1, max = 20) int channels,
            @ForAll boolean same,
            @ForAll boolean last) {
        Random random = new Random(seed);
        int[] kernel = pair(random, 1, 3);
        boolean wide = kernel[0] > 1 && kernel[1] > 1;
        SubsamplingLayer conf = new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.PNORM)
                .kernelSize(kernel)
                // With more DL4J's mode Same would start behind the first number.
                .stride(pair(random, 1, 2))
                .padding(same || !wide ? new int[2] : pair(random, 0, 1))
                .dilation(random.nextInt(4) == 0 ? pair(random, 1, 2) : new int[] {1, 1})
                .convolutionMode(same ? ConvolutionMode.Same : ConvolutionMode.Truncate)
                .dataFormat(last ? CNN2DFormat.NHWC : CNN2DFormat.NCHW)
                .pnorm(p)
                .build();
        int height = 7 + random.nextInt(3);
        INDArray input = last
                ? awayFromZero(random, batch, height, 8, channels)
                : awayFromZero(random, batch, channels, height, 8);
        TwinCheck.of(conf, PNormTwin.class, random).agrees(input);
    }

    @Property(tries = 30)
    void ofSequencesAgreeWithDl4js(
            @ForAll long seed,
            @ForAll @IntRange(min = 2, max = 5) int p,
            @ForAll @IntRange(min = 1, max = 3) int batch,
            @ForAll @IntRange(min = 1, max = 20) int channels,
            @ForAll boolean same,
            @ForAll boolean masked) {
        Random random = new Random(seed);
        Subsampling1DLayer conf = new Subsampling1DLayer.Builder(
                        SubsamplingLayer.PoolingType.PNORM, 1 + random.nextInt(3), 1 + random.nextInt(2))
                .convolutionMode(same ? ConvolutionMode.Same : ConvolutionMode.Truncate)
                .pnorm(p)
                .build();
        int steps = 5 + random.nextInt(4);
        INDArray mask = null;
        if (masked) {
            mask = Nd4j.ones(DataType.FLOAT, batch, steps);
            for (int example = 0; example < batch; example++) {
                for (int step = 1 + random.nextInt(steps); step < steps; step++) {
                    mask.putScalar(example, step, 0);
                }
            }
        }
        TwinCheck.of(conf, PNormTwin.class, random).masked(mask).agrees(awayFromZero(random, batch, channels, steps));
    }

    /** DL4J's gradient is NaN for windows of zeros, and of numbers whose powers FP32 doesn't have. */
    private static INDArray awayFromZero(Random random, long... shape) {
        INDArray array = gaussian(random, 1, shape);
        for (long i = 0; i < array.length(); i++) {
            if (Math.abs(array.getFloat(i)) < 0.01) {
                array.putScalar(i, 1);
            }
        }
        return array;
    }

    /** Windows of 3×2 with strides of 2, one row of padding above and below, against the formula in double. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 8})
    void theyAreThoseOfTheFormula(int p) {
        SubsamplingLayer conf = new SubsamplingLayer.Builder(
                        SubsamplingLayer.PoolingType.PNORM, new int[] {3, 2}, new int[] {2, 2})
                .padding(1, 0)
                .pnorm(p)
                .build();
        Random random = new Random(p);
        INDArray input = awayFromZero(random, 2, 3, 7, 8);
        INDArray epsilon = gaussian(random, 1, 2, 3, 4, 4);
        INDArray output = Nd4j.create(DataType.DOUBLE, 2, 3, 4, 4);
        INDArray gradient = Nd4j.create(DataType.DOUBLE, 2, 3, 7, 8);
        for (int plane = 0; plane < 6; plane++) {
            for (int window = 0; window < 16; window++) {
                int top = window / 4 * 2 - 1;
                int left = window % 4 * 2;
                double sum = 0;
                for (int place = 0; place < 6; place++) {
                    sum += Math.pow(Math.abs(at(input, plane, top + place / 2, left + place % 2)), p);
                }
                int[] norm = {plane / 3, plane % 3, window / 4, window % 4};
                output.putScalar(norm, Math.pow(sum, 1.0 / p));
                for (int place = 0; place < 6; place++) {
                    int row = top + place / 2;
                    int column = left + place % 2;
                    double x = at(input, plane, row, column);
                    if (row >= 0 && row < 7) {
                        int[] number = {plane / 3, plane % 3, row, column};
                        double slope = x * Math.pow(Math.abs(x), p - 2) * Math.pow(sum, (1.0 - p) / p);
                        gradient.putScalar(number, gradient.getDouble(number) + epsilon.getDouble(norm) * slope);
                    }
                }
            }
        }
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(0, true)) {
                SingleLayer.Result actual = SingleLayer.run(
                        Layers.twin(session, conf, null, type), input.castTo(type), epsilon.castTo(type));
                Agreement.assertRoundedOnce(type + " output", output, actual.output());
                Agreement.assertRoundedOnce(type + " input gradient", gradient, actual.inputGradient());
            }
        }
    }

    private static double at(INDArray planes, int plane, int row, int column) {
        return row < 0 || row >= planes.size(2) ? 0 : planes.getDouble(plane / 3, plane % 3, row, column);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 8})
    void aWindowOfZerosHasNoGradient(int p) {
        SubsamplingLayer conf = new SubsamplingLayer.Builder(
                        SubsamplingLayer.PoolingType.PNORM, new int[] {2, 2}, new int[] {2, 2})
                .pnorm(p)
                .build();
        INDArray input = Nd4j.create(new float[] {0, 0, 1, -2, 0, 0, 0, 4}, new int[] {1, 1, 2, 4});
        INDArray epsilon = Nd4j.create(new float[] {3, 3}, new int[] {1, 1, 1, 2});
        double norm = Math.pow(1 + Math.pow(2, p) + Math.pow(4, p), 1.0 / p);
        double factor = 3 / Math.pow(norm, p - 1);
        INDArray expected = Nd4j.create(
                new double[] {0, 0, factor, -factor * Math.pow(2, p - 1), 0, 0, 0, factor * Math.pow(4, p - 1)},
                new long[] {1, 1, 2, 4});
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(0, true)) {
                SingleLayer.Result actual = SingleLayer.run(
                        Layers.twin(session, conf, null, type), input.castTo(type), epsilon.castTo(type));
                Agreement.assertRoundedOnce(
                        "norm", Nd4j.create(new double[] {0, norm}, new long[] {1, 1, 1, 2}), actual.output());
                Agreement.assertRoundedOnce("input gradient", expected, actual.inputGradient());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(CNN2DFormat.class)
    void networksTrainAndComputeAsInStockDl4j(CNN2DFormat format) {
        Layer pooling = new SubsamplingLayer.Builder(
                        SubsamplingLayer.PoolingType.PNORM, new int[] {2, 2}, new int[] {2, 2})
                .dataFormat(format)
                .pnorm(3)
                .build();
        StockTraining.assertAgrees(
                Networks.init(Networks.builder(new Sgd(0.05))
                        .list()
                        .layer(new ConvolutionLayer.Builder(3, 3)
                                .nOut(8)
                                .dataFormat(format)
                                .activation(Activation.TANH)
                                .build())
                        .layer(pooling)
                        .layer(new ConvolutionLayer.Builder(2, 2)
                                .nOut(4)
                                .dataFormat(format)
                                .activation(Activation.TANH)
                                .build())
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.convolutional(8, 8, 3, format))
                        .build()),
                format,
                0);
    }

    @Test
    void otherPowersAreLeftToDl4j() {
        for (int p : new int[] {1, 9}) {
            SubsamplingLayer conf = new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.PNORM)
                    .pnorm(p)
                    .build();
            assertEquals(
                    "it has no kernel for PNORM pooling with p = " + p + ", only 2 to 8",
                    new OneDnnEngine().cannot(conf, Precision.FLOAT).orElseThrow());
        }
    }
}
