package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** The gradients of the first step, layer by layer, against FP32. */
class GradientAccuracyTest {
    @ParameterizedTest
    @EnumSource(names = {"HALF", "BFLOAT16"})
    void gradientsOfAnMlpPointWhereThoseOfFp32Do(Precision precision) {
        compare(Networks.init(Networks.mlp()), Networks.vectors(64, 20, 3), precision);
    }

    @ParameterizedTest
    @EnumSource(names = {"HALF"})
    void gradientsOfACnnWithBatchNormPointWhereThoseOfFp32Do(Precision precision) {
        compare(Networks.init(Networks.cnn()), Networks.images(16, 3, 12, 3), precision);
    }

    @ParameterizedTest
    @EnumSource(names = {"HALF", "BFLOAT16"})
    void gradientsOfAnLstmWithMasksPointWhereThoseOfFp32Do(Precision precision) {
        compare(Networks.init(Networks.lstm()), Networks.maskedSequences(12, 5, 3, 9), precision);
    }

    @ParameterizedTest
    @EnumSource(names = {"HALF"})
    void gradientsOfAGraphWithResidualAndMergePointWhereThoseOfFp32Do(Precision precision) {
        ComputationGraph fp32 = Networks.init(Networks.residual());
        ComputationGraph half = fp32.clone();
        DataSet data = Networks.images(16, 3, 8, 3);
        Map<String, INDArray> expected = Gradients.of(fp32, data.toMultiDataSet());
        try (MixedPrecision amp = MixedPrecision.enable(half, Gradients.config(precision))) {
            assertTrue(amp.plan().anyHalf());
            Gradients.assertAligned(expected, Gradients.of(half, data.toMultiDataSet()), 0.999);
        }
    }

    private static void compare(MultiLayerNetwork fp32, DataSet data, Precision precision) {
        Comparison.assumeComputed(precision);
        MultiLayerNetwork half = fp32.clone();
        Map<String, INDArray> expected = Gradients.of(fp32, data);
        try (MixedPrecision amp = MixedPrecision.enable(half, Gradients.config(precision))) {
            assertTrue(amp.plan().anyHalf());
            Map<String, INDArray> actual = Gradients.of(half, data);
            Gradients.assertAligned(expected, actual, 0.999);
            assertEquals(fp32.score(), half.score(), 1e-2 * Math.abs(fp32.score()));
            actual.values().forEach(gradient -> assertEquals(DataType.FLOAT, gradient.dataType()));
        }
        assertEquals(new LinkedHashMap<>(fp32.paramTable()), new LinkedHashMap<>(half.paramTable()));
    }
}
