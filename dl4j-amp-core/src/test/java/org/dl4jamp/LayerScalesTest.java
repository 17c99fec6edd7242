package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Networks whose gradients vanish in HALF take FP32's steps where each layer has a scale of its own. */
class LayerScalesTest {
    static Stream<Arguments> networksAndMicroBatches() {
        return Stream.of(1, 2, 3)
                .flatMap(microBatches -> Stream.of(
                        Arguments.of(
                                "mlp",
                                microBatches,
                                Networks.init(Vanishing.in(Networks.mlp())),
                                Networks.vectors(24, 20, 3)),
                        Arguments.of(
                                "cnn",
                                microBatches,
                                Networks.init(Vanishing.in(Networks.cnn())),
                                Networks.images(24, 3, 12, 3)),
                        Arguments.of(
                                "lstm",
                                microBatches,
                                Networks.init(Vanishing.in(Networks.lstm())),
                                Networks.maskedSequences(24, 5, 3, 7)),
                        Arguments.of(
                                "graph",
                                microBatches,
                                Networks.init(Vanishing.in(Networks.residual())),
                                Networks.images(24, 3, 8, 3))));
    }

    @ParameterizedTest(name = "{0}, {1} micro-batches")
    @MethodSource("networksAndMicroBatches")
    void stepsAreThoseOfFp32(String name, int microBatches, Model network, DataSet data) {
        AmpConfig.Builder half = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .accumulate(microBatches)
                .lossScaler(new StaticLossScaler(1));
        Map<String, INDArray> expected = changes(
                network, data, AmpConfig.builder().precision(Precision.FLOAT).accumulate(microBatches));
        String first = expected.keySet().iterator().next();
        Map<String, INDArray> without = changes(network, data, half);
        assertEquals(1, distance(expected.get(first), without.get(first)), 0.1, "without, gradients vanish on the way");
        Map<String, INDArray> with = changes(network, data, half.layerScales(true));
        expected.forEach((parameter, change) -> {
            double distance = distance(change, with.get(parameter));
            assertTrue(distance < 0.1, () -> parameter + ": relative distance " + distance);
        });
    }

    private static double distance(INDArray expected, INDArray actual) {
        return expected.distance2(actual) / expected.norm2Number().doubleValue();
    }

    /** Returns by how much three steps change each parameter. */
    private static Map<String, INDArray> changes(Model network, DataSet data, AmpConfig.Builder config) {
        Model copy = Networks.copy(network);
        AmpConfig settings = config.build();
        try (MixedPrecision amp = MixedPrecision.enable(copy, settings)) {
            List<DataSet> parts = parts(data, settings.accumulate());
            for (int step = 0; step < 3; step++) {
                parts.forEach(part -> Networks.fit(copy, part));
            }
            assertEquals(3, amp.stepsTaken());
            assertEquals(0, amp.stepsSkipped());
        }
        Map<String, INDArray> changes = new LinkedHashMap<>();
        copy.paramTable()
                .forEach((name, after) ->
                        changes.put(name, after.sub(network.paramTable().get(name))));
        return changes;
    }

    private static List<DataSet> parts(DataSet data, int parts) {
        int examples = data.numExamples() / parts;
        return IntStream.range(0, parts)
                .mapToObj(part -> (DataSet) data.getRange(part * examples, (part + 1) * examples))
                .toList();
    }
}
