package org.dl4jamp.onednn;

import java.nio.FloatBuffer;
import java.util.Map;
import java.util.Optional;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.AdamUpdater;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.Adam;

/**
 * ND4J's Adam, over the state of ND4J's updater, in vector instructions.
 *
 * <p>With gradient g, step t counted from 0, learning rate α, and the configuration's β₁, β₂ and ε, in FP32: m = β₁m + (1 − β₁)g, v = β₂v +
 * (1 − β₂)g², and the update is m · α√(1 − β₂ᵗ⁺¹)/(1 − β₁ᵗ⁺¹) / (√v + ε), as in section 2 of Kingma and Ba, <a
 * href="https://arxiv.org/abs/1412.6980">Adam: A Method for Stochastic Optimization</a>.
 */
final class VectorizedAdam implements GradientUpdater<Adam> {
    private final AdamUpdater plain;

    /**
     * @param plain ND4J's updater, with its state
     */
    VectorizedAdam(AdamUpdater plain) {
        this.plain = plain;
    }

    @Override
    public void applyUpdater(INDArray gradient, int iteration, int epoch) {
        Optional<FlatFloats> g = FlatFloats.of(gradient);
        Optional<FlatFloats> m = FlatFloats.of(plain.getM());
        Optional<FlatFloats> v = FlatFloats.of(plain.getV());
        if (g.isEmpty() || m.isEmpty() || v.isEmpty()) {
            plain.applyUpdater(gradient, iteration, epoch);
            return;
        }
        Step step = Step.of(plain.getConfig(), iteration, epoch);
        FlatFloats.forEachRange(
                gradient.length(),
                (start, size) -> step.run(
                        g.get().range(start, size),
                        m.get().range(start, size),
                        v.get().range(start, size)));
    }

    /** The numbers of one step. */
    private record Step(float beta1, float beta2, float rate, float epsilon) {
        static Step of(Adam adam, int iteration, int epoch) {
            float beta1 = (float) adam.getBeta1();
            float beta2 = (float) adam.getBeta2();
            float rate = (float) adam.getLearningRate(iteration, epoch);
            float power1 = (float) Math.pow(beta1, iteration + 1.0);
            float power2 = (float) Math.pow(beta2, iteration + 1.0);
            float corrected = (float) (rate * Math.sqrt(1.0 - power2) / (1.0 - power1));
            float epsilon = (float) adam.getEpsilon();
            // As ND4J does where the correction is of no use.
            boolean usable = Float.isFinite(corrected) && corrected != 0;
            return new Step(beta1, beta2, usable ? corrected : epsilon, epsilon);
        }

        void run(FloatBuffer gradients, FloatBuffer means, FloatBuffer squares) {
            float[] g = new float[FlatFloats.CHUNK];
            float[] m = new float[FlatFloats.CHUNK];
            float[] v = new float[FlatFloats.CHUNK];
            while (gradients.hasRemaining()) {
                int size = Math.min(FlatFloats.CHUNK, gradients.remaining());
                int at = gradients.position();
                gradients.get(at, g, 0, size);
                means.get(at, m, 0, size);
                squares.get(at, v, 0, size);
                run(g, m, v, size);
                gradients.put(g, 0, size);
                means.put(at, m, 0, size);
                squares.put(at, v, 0, size);
            }
        }

        // Three loops: the compiler turns each into vector instructions.
        private void run(float[] g, float[] m, float[] v, int size) {
            for (int i = 0; i < size; i++) {
                m[i] = beta1 * m[i] + g[i] * (1 - beta1);
            }
            for (int i = 0; i < size; i++) {
                v[i] = beta2 * v[i] + g[i] * g[i] * (1 - beta2);
            }
            for (int i = 0; i < size; i++) {
                g[i] = m[i] * rate / ((float) Math.sqrt(v[i]) + epsilon);
            }
        }
    }

    @Override
    public Adam getConfig() {
        return plain.getConfig();
    }

    @Override
    public void setState(Map<String, INDArray> stateMap, boolean initialize) {
        plain.setState(stateMap, initialize);
    }

    @Override
    public Map<String, INDArray> getState() {
        return plain.getState();
    }

    @Override
    public void setStateViewArray(INDArray viewArray, long[] gradientShape, char gradientOrder, boolean initialize) {
        plain.setStateViewArray(viewArray, gradientShape, gradientOrder, initialize);
    }
}
