package org.dl4jamp.onednn.normalization;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
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
