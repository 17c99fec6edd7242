package org.dl4jamp.onednn.pooling;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Maxima, averages, sums and p-norms of all positions, or of those that a mask leaves. */
class GlobalPoolingMasksTest {
    private static GlobalPoolingLayer pooling(PoolingType type, int p) {
        return new GlobalPoolingLayer.Builder(type).pnorm(p).build();
    }

    @Property(tries = 80)
    void agreeWithDl4js(
            @ForAll long seed,
            @ForAll PoolingType type,
            @ForAll @IntRange(min = 2, max = 8) int p,
            @ForAll @IntRange(min = 1, max = 4) int batch,
            @ForAll @IntRange(min = 1, max = 20) int channels,
            @ForAll @IntRange(min = 3, max = 5) int rank,
            @ForAll boolean masked) {
        Random random = new Random(seed);
        long[] shape = new long[rank];
        Arrays.setAll(shape, axis -> axis == 0 ? batch : axis == 1 ? channels : 1L + random.nextInt(6));
        INDArray input = gaussian(random, 1, shape);
        for (long i = 0; i < input.length(); i++) {
            // DL4J's gradient of a norm of zeros is NaN, and the place of equal maxima is another.
            input.putScalar(i, Layers.rounded(input.getFloat(i) + (input.getFloat(i) >= 0 ? 1 + i : -1 - i) / 64f));
        }
        INDArray mask = masked && rank < 5 ? mask(random, shape) : null;
        TwinCheck.of(pooling(type, p), GlobalPoolingTwin.class, random)
                .masked(mask)
                .agrees(input);
    }

    /** At least one position of each example counts. */
    private static INDArray mask(Random random, long... input) {
        long[] shape = input.clone();
        if (input.length == 3) {
            shape = new long[] {input[0], input[2]};
        } else {
            shape[1] = 1;
            for (int axis = 2; axis < 4; axis++) {
                shape[axis] = random.nextInt(3) == 0 ? 1 : input[axis];
            }
        }
        INDArray mask = Nd4j.ones(DataType.FLOAT, shape);
        long each = mask.length() / input[0];
        for (long i = 0; i < mask.length(); i++) {
            mask.putScalar(i, i % each == 0 || random.nextBoolean() ? 1 : 0);
        }
        return mask;
    }

    /**
     * DL4J adds 1 less the mask to numbers, minus infinity in place of 1. So the maximum of an example without any
     * positions is minus infinity, and the first position has its gradient.
     */
    @ParameterizedTest
    @ValueSource(ints = {3, 4})
    void maximaUnderMasksOfFractionsAndZerosAreDl4js(int rank) {
        Random random = new Random(rank);
        long[] shape = rank == 3 ? new long[] {3, 5, 6} : new long[] {3, 5, 2, 3};
        INDArray input = gaussian(random, 1, shape);
        for (long i = 0; i < input.length(); i++) {
            input.putScalar(i, (i * 37 % input.length() - 40) / 64f);
        }
        INDArray epsilon = gaussian(random, 1, 3, 5).castTo(DataType.BFLOAT16).castTo(DataType.FLOAT);
        INDArray mask = Nd4j.createFromArray(
                new float[][] {{0, 0, 0, 0, 0, 0}, {1, 0.5f, 0, 0.25f, 1, 0}, {0, 0, 0.75f, 0, 0, 0}});
        INDArray masks = rank == 3 ? mask : mask.reshape(3, 1, 2, 3);
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(pooling(PoolingType.MAX, 2), null);
        dl4j.setMaskArray(masks);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        assertEquals(Float.NEGATIVE_INFINITY, expected.output().getFloat(0, 0));
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(0, true)) {
                TwinLayer twin = Layers.twin(session, pooling(PoolingType.MAX, 2), null, type);
                twin.setMaskArray(masks);
                assertInstanceOf(GlobalPoolingTwin.class, twin.twin().compute());
                SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                assertArrayEquals(
                        expected.output().toFloatMatrix(), actual.output().toFloatMatrix());
                assertEquals(expected.inputGradient(), actual.inputGradient().castTo(DataType.FLOAT));
            }
        }
    }

    /** The norm of all pixels, one channel of zeros, against the formula in double. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 7, 8})
    void normsAreThoseOfTheFormula(int p) {
        Random random = new Random(p);
        int positions = 35;
        INDArray input = gaussian(random, 1, 2, 3, 5, 7);
        for (int position = 0; position < positions; position++) {
            input.putScalar(new int[] {1, 2, position / 7, position % 7}, 0);
        }
        INDArray epsilon = gaussian(random, 1, 2, 3);
        INDArray output = Nd4j.create(DataType.DOUBLE, 2, 3);
        INDArray gradient = Nd4j.create(DataType.DOUBLE, 2, 3, 5, 7);
        for (int plane = 0; plane < 6; plane++) {
            int[] norm = {plane / 3, plane % 3};
            double sum = 0;
            for (int position = 0; position < positions; position++) {
                sum += Math.pow(Math.abs(input.getDouble(norm[0], norm[1], position / 7, position % 7)), p);
            }
            output.putScalar(norm, Math.pow(sum, 1.0 / p));
            for (int position = 0; position < positions && sum > 0; position++) {
                int[] place = {norm[0], norm[1], position / 7, position % 7};
                double x = input.getDouble(place);
                gradient.putScalar(
                        place,
                        epsilon.getDouble(norm) * x * Math.pow(Math.abs(x), p - 2) * Math.pow(sum, (1.0 - p) / p));
            }
        }
        Layer conf = pooling(PoolingType.PNORM, p);
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(0, true)) {
                SingleLayer.Result actual = SingleLayer.run(
                        Layers.twin(session, conf, null, type), input.castTo(type), epsilon.castTo(type));
                Agreement.assertRoundedOnce(type + " output", output, actual.output());
                Agreement.assertRoundedOnce(type + " input gradient", gradient, actual.inputGradient());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(PoolingType.class)
    void sequencesWithMasksTrainAndInferAsInStockDl4j(PoolingType type) {
        MultiLayerNetwork stock = Networks.init(Networks.builder(new Sgd(0.05))
                .list()
                .layer(new LSTM.Builder().nOut(6).build())
                .layer(pooling(type, 3))
                .layer(Networks.softmax(3))
                .setInputType(InputType.recurrent(4))
                .build());
        INDArray mask = Nd4j.createFromArray(new float[][] {{1, 1, 1, 0, 0}, {1, 1, 1, 1, 1}, {1, 0, 0, 0, 0}});
        DataSet data =
                new DataSet(gaussian(new Random(1), 1, 3, 4, 5), Nd4j.eye(3).castTo(DataType.FLOAT), mask, null);
        MultiLayerNetwork trained = stock.clone();
        trained.fit(data.copy());
        INDArray expected = trained.output(data.getFeatures(), false, mask, null);
        for (Precision precision : Types.precisions()) {
            double tolerance = precision == Precision.FLOAT ? 1e-5 : 0.03;
            AmpConfig config =
                    AmpConfig.builder().engine("onednn").precision(precision).build();
            MultiLayerNetwork own = stock.clone();
            try (MixedPrecision amp = MixedPrecision.enable(own, config)) {
                own.fit(data.copy());
                assertEquals("onednn", amp.plan().row("layer1").engine());
                Agreement.assertWithin("parameters", trained.params(), own.params(), tolerance);
            }
            try (InferenceMode mode = MixedPrecision.inference(own, config.forInference())) {
                Agreement.assertWithin(
                        "output", expected, own.output(data.getFeatures(), false, mask, null), tolerance);
            }
        }
    }
}
