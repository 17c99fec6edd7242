package org.dl4jamp.onednn.host;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.AdamUpdater;
import org.nd4j.linalg.learning.config.Adam;

/**
 * ND4J's Adam.
 *
 * <p>With gradient g, step t counted from 0, and learning rate α, in FP32: m = β₁m + (1 − β₁)g and v = β₂v + (1 −
 * β₂)g². The update is m · α√(1 − β₂ᵗ⁺¹)/(1 − β₁ᵗ⁺¹) / (√v + ε), as in section 2 of Kingma and Ba, <a
 * href="https://arxiv.org/abs/1412.6980">Adam: A Method for Stochastic Optimization</a>.
 */
final class VectorizedAdam extends VectorizedUpdater {
    private final AdamUpdater plain;

    /** @param plain ND4J's updater, with its state */
    VectorizedAdam(AdamUpdater plain) {
        this.plain = plain;
    }

    @Override
    List<INDArray> state() {
        return List.of(plain.getM(), plain.getV());
    }

    @Override
    Step step(int iteration, int epoch, float divisor) {
        Adam adam = plain.getConfig();
        float beta1 = (float) adam.getBeta1();
        float beta2 = (float) adam.getBeta2();
        float rate = (float) adam.getLearningRate(iteration, epoch);
        float power1 = (float) Math.pow(beta1, iteration + 1.0);
        float power2 = (float) Math.pow(beta2, iteration + 1.0);
        float corrected = (float) (rate * Math.sqrt(1.0 - power2) / (1.0 - power1));
        float epsilon = (float) adam.getEpsilon();
        // As ND4J does where the correction is of no use.
        boolean usable = Float.isFinite(corrected) && corrected != 0;
        return new AdamStep(beta1, beta2, usable ? corrected : epsilon, epsilon, divisor);
    }

    private record AdamStep(float beta1, float beta2, float rate, float epsilon, float divisor) implements Step {
        @Override
        public void run(float[] g, float[][] state, int size) {
            run(g, state[0], state[1], size);
        }

        private void run(float[] g, float[] m, float[] v, int size) {
            for (int i = 0; i < size; i++) {
                float gradient = g[i] / divisor;
                m[i] = beta1 * m[i] + gradient * (1 - beta1);
                v[i] = beta2 * v[i] + gradient * gradient * (1 - beta2);
                g[i] = m[i] * rate / ((float) Math.sqrt(v[i]) + epsilon);
            }
        }
    }
}
