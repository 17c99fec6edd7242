package org.dl4jamp.onednn.normalization;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.ops.transforms.Transforms;

class BatchNormTwinTest {
    @ParameterizedTest
    @CsvSource({
        // rank, minibatch, channels, logarithm of the deviation, gamma and beta locked, format
        "4, 3, 16, true, false, NCHW",
        "4, 2, 7, false, false, NCHW",
        "4, 2, 7, false, false, NHWC",
        "4, 1, 33, true, true, NCHW",
        "2, 8, 5, true, false, NCHW",
        "2, 8, 5, true, false, NHWC",
        "2, 6, 32, false, true, NCHW"
    })
    void agreesWithDl4jsLayerInTrainingAndInferenceAndBackwardAfterBoth(
            int rank, int minibatch, int channels, boolean useLogStd, boolean lock, CNN2DFormat format) {
        BatchNormalization conf = new BatchNormalization.Builder()
                .nIn(channels)
                .nOut(channels)
                .useLogStd(useLogStd)
                .lockGammaBeta(lock)
                .gamma(1.5)
                .beta(-0.5)
                .decay(0.8)
                .dataFormat(format)
                .build();
        Random random = new Random(channels);
        INDArray params = Transforms.abs(
                        gaussian(random, 0.3, conf.initializer().numParams(conf)))
                .addi(0.1);
        long[] images = format == CNN2DFormat.NCHW
                ? new long[] {minibatch, channels, 5, 4}
                : new long[] {minibatch, 5, 4, channels};
        long[] shape = rank == 4 ? images : new long[] {minibatch, channels};
        INDArray input = gaussian(random, 2, shape);
        INDArray epsilon = gaussian(random, 1, shape);
        Layer dl4j = SingleLayer.dl4j(conf, params);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        Map<String, INDArray> expectedGradients = copy(expected, dl4j);
        SingleLayer.Result inference = SingleLayer.run(dl4j, input, epsilon, false);
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                assertInstanceOf(BatchNormTwin.class, twin.twin().compute());
                SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                assertAgree(type + " in training", expected, expectedGradients, actual);
                SingleLayer.Result afterInference =
                        SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type), false);
                assertAgree(type + " in inference", inference, copy(inference, dl4j), afterInference);
                SingleLayer.Result again = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
                assertAgree(type + " in training again", expected, expectedGradients, again);
            }
        }
    }

    /** Sums of squares one after another, in FP32, would be off by 4e-5 here, and by more of larger images. */
    @Test
    void statisticsOfManyNumbersAreThoseOfDoublePrecision() {
        int channels = 5;
        BatchNormalization conf = new BatchNormalization.Builder()
                .nIn(channels)
                .nOut(channels)
                .decay(0)
                .useLogStd(false)
                .build();
        INDArray params = Nd4j.ones(1, conf.initializer().numParams(conf));
        for (DataType type : Types.here()) {
            INDArray input =
                    gaussian(new Random(1), 1, 3, channels, 301, 293).addi(3).castTo(type);
            INDArray numbers = input.castTo(DataType.DOUBLE);
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                SingleLayer.Result actual = SingleLayer.run(twin, input, input);
                assertStatistic(numbers.mean(0, 2, 3), actual, BatchNormalizationParamInitializer.GLOBAL_MEAN);
                assertStatistic(numbers.var(false, 0, 2, 3), actual, BatchNormalizationParamInitializer.GLOBAL_VAR);
                INDArray deviations = numbers.subi(numbers.mean(true, 0, 2, 3));
                INDArray normalized = deviations.divi(Transforms.sqrt(
                        deviations.mul(deviations).mean(true, 0, 2, 3).addi(conf.getEps())));
                Agreement.assertRoundedOnce(type + " output", normalized.addi(1), actual.output());
            }
        }
    }

    /** A statistic that was 1, and moves to the minibatch's at once: the update is subtracted. */
    private static void assertStatistic(INDArray expected, SingleLayer.Result actual, String parameter) {
        INDArray update = actual.gradient().getGradientFor(parameter).castTo(DataType.DOUBLE);
        Agreement.assertWithin(parameter, expected, update.rsub(1).reshape(expected.shape()), 2e-6);
    }

    private static void assertAgree(
            String what, SingleLayer.Result expected, Map<String, INDArray> gradients, SingleLayer.Result actual) {
        Agreement.assertRoundedOnce(what + " output", expected.output(), actual.output());
        Agreement.assertRoundedOnce(what + " input", expected.inputGradient(), actual.inputGradient());
        gradients.forEach((parameter, gradient) -> Agreement.assertWithin(
                what + " " + parameter, gradient, actual.gradient().getGradientFor(parameter), 1e-5));
    }

    /** The names of the gradients to compare: DL4J's layer also returns those of locked parameters. */
    private static Map<String, INDArray> copy(SingleLayer.Result result, Layer layer) {
        Map<String, INDArray> copy = new LinkedHashMap<>();
        for (String parameter : layer.paramTable().keySet()) {
            copy.put(parameter, result.gradient().getGradientFor(parameter).dup());
        }
        return copy;
    }
}
