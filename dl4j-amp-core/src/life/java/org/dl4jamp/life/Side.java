package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A precision and an engine to compare with stock DL4J in FP32.
 *
 * @param tolerance how far what is learned may be off, as a part of its norm
 */
record Side(Precision precision, String engine, double tolerance) {
    private static final List<Side> HERE = ServiceLoader.load(ComputeEngine.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(engine -> engine.name().equals("onednn"))
            .findFirst()
            .map(Side::of)
            .orElse(List.of(new Side(Precision.HALF, "nd4j", 0.03)));

    /**
     * Those of the engine on the class path: HALF on ND4J's own; on oneDNN FP32, and BFLOAT16 where the CPU lets it.
     */
    static Stream<Side> here() {
        return HERE.stream();
    }

    private static List<Side> of(ComputeEngine onednn) {
        Side fp32 = new Side(Precision.FLOAT, onednn.name(), 0.001);
        return onednn.cannot(Precision.BFLOAT16).isPresent()
                ? List.of(fp32)
                : List.of(fp32, new Side(Precision.BFLOAT16, onednn.name(), 0.12));
    }

    MixedPrecision enable(Model network) {
        AmpConfig config =
                AmpConfig.builder().precision(precision).engine(engine).build();
        return network instanceof MultiLayerNetwork layers
                ? MixedPrecision.enable(layers, config)
                : MixedPrecision.enable((ComputationGraph) network, config);
    }

    /** Returns how far a score may be off. */
    double ofScore(double score) {
        return Math.max(tolerance / 2, 1e-4) * Math.abs(score);
    }

    /** Asserts that two networks that were equal have learned the same, and something at all. */
    void assertLearnedAlike(INDArray before, Model fp32, Model mixed) {
        INDArray learned = fp32.params().sub(before);
        assertTrue(learned.norm2Number().doubleValue() > 0, "something was learned");
        assertClose(learned, mixed.params().sub(before), "what was learned");
    }

    void assertClose(INDArray expected, INDArray actual, String what) {
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double error = expected.sub(actual).norm2Number().doubleValue();
        double norm = expected.norm2Number().doubleValue();
        assertTrue(error <= tolerance * norm, () -> what + " is off by " + error + " of " + norm + " on " + this);
    }

    static boolean isEnabled(Model network) {
        Optional<MixedPrecision> amp = MixedPrecision.of(network);
        return amp.isPresent();
    }
}
