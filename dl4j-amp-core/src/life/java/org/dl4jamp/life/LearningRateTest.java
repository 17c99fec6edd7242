package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.MixedPrecision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A learning rate that a program changes while it trains. */
class LearningRateTest {
    private static final double[] RATES = {0.05, 0.2, 0.002};

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void aRateThatIsChangedInTheMiddleCountsFromTheNextStepAndMomentumIsKept(Kind kind, Side side) {
        Model fp32 = kind.network();
        Model mixed = kind.network();
        MixedPrecision amp = side.enable(mixed);
        double[] moved = new double[RATES.length];
        for (int i = 0; i < RATES.length; i++) {
            Kind.setLearningRate(fp32, RATES[i]);
            Kind.setLearningRate(mixed, RATES[i]);
            INDArray before = mixed.params().dup();
            fp32.setParams(before.dup());
            Kind.fit(fp32, Kind.data());
            Kind.fit(mixed, Kind.data());
            side.assertLearnedAlike(before, fp32, mixed);
            moved[i] = mixed.params().sub(before).norm2Number().doubleValue();
        }
        assertTrue(moved[1] > 2 * moved[0], "a higher rate makes a longer step");
        assertEquals(RATES.length, amp.stepsTaken());
        assertTrue(Side.isEnabled(mixed));
    }
}
