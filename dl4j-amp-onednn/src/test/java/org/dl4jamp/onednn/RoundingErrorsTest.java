package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The errors of attention and of LSTMs with peepholes in BFLOAT16, beside those that rounding input, weights and
 * gradient of the output alone makes in a computation in FP32. Both are measured as norms.
 */
class RoundingErrorsTest {
    private static final int SIZE = 64;

    private static Stream<Layer> layers() {
        return Arrays.stream(SequenceNetwork.values())
                .filter(kind -> !kind.isGraph())
                .map(kind -> kind.middle(SIZE, 8));
    }

    /** Runs DL4J's layer; of learned attention, which fails in DL4J, this engine's in FP32. */
    private static SingleLayer.Result inFloat(EngineSession session, Layer conf, INDArray params, INDArray... arrays) {
        return conf instanceof LearnedSelfAttentionLayer
                ? SingleLayer.run(Layers.twin(session, conf, params, DataType.FLOAT), arrays[0], arrays[1])
                : SingleLayer.run(SingleLayer.dl4j(conf, params), arrays[0], arrays[1]);
    }

    private static INDArray gaussian(Random random, double deviation, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, deviation * random.nextGaussian());
        }
        return array;
    }

    private static double error(INDArray expected, INDArray actual) {
        INDArray exact = expected.castTo(DataType.DOUBLE);
        return exact.distance2(actual.castTo(DataType.DOUBLE))
                / exact.norm2Number().doubleValue();
    }

    @ParameterizedTest
    @MethodSource("layers")
    void theyAreOfTheSizeOfRoundingTheInputs(Layer conf) {
        DataType type = Types.half();
        Assumptions.assumeTrue(type == DataType.BFLOAT16, "no BFLOAT16 on this CPU");
        conf.setNIn(InputType.recurrent(SIZE, 16), true);
        for (int seed = 0; seed < 3; seed++) {
            Random random = new Random(seed);
            long number = conf.initializer().numParams(conf);
            INDArray params = number == 0 ? null : gaussian(random, 1 / Math.sqrt(SIZE), number);
            INDArray input = gaussian(random, 1, 8, SIZE, 16);
            INDArray epsilon = gaussian(random, 1, 8, SIZE, conf instanceof LearnedSelfAttentionLayer ? 6 : 16);
            INDArray roundedParams = params == null ? null : rounded(params);
            // Rounding the input adds least without weights, or where learned queries take the mean of many values.
            double most = number == 0 || conf instanceof LearnedSelfAttentionLayer ? 1.5 : 1.1;
            try (EngineSession session = new OneDnnEngine().session(1, true)) {
                SingleLayer.Result exact = inFloat(session, conf, params, input.dup(), epsilon);
                SingleLayer.Result rounded = inFloat(session, conf, roundedParams, rounded(input), rounded(epsilon));
                SingleLayer.Result actual = SingleLayer.run(
                        Layers.twin(session, conf, roundedParams, type), input.castTo(type), epsilon.castTo(type));
                compare("output", exact.output(), rounded.output(), actual.output(), most);
                compare("input", exact.inputGradient(), rounded.inputGradient(), actual.inputGradient(), most);
                exact.gradient()
                        .gradientForVariable()
                        .forEach((name, gradient) ->
                                compare(name, gradient, rounded.gradient(name), actual.gradient(name), most));
            }
        }
    }

    private static INDArray rounded(INDArray array) {
        return array.castTo(DataType.BFLOAT16).castTo(DataType.FLOAT);
    }

    private static void compare(String what, INDArray exact, INDArray rounded, INDArray actual, double most) {
        double ofInputs = error(exact, rounded);
        double ofLayer = error(rounded, actual);
        assertTrue(ofLayer <= most * ofInputs, () -> what + ": " + ofLayer + " against " + ofInputs);
    }
}
