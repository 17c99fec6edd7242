package org.dl4jamp.onednn.host;

import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.AdamUpdater;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.NesterovsUpdater;
import org.nd4j.linalg.learning.NoOpUpdater;
import org.nd4j.linalg.learning.SgdUpdater;
import org.nd4j.linalg.learning.config.Adam;

/**
 * The FP32 arithmetic of an updater of ND4J's, over its state, in vector instructions and one pass over memory,
 * division by the minibatch included.
 *
 * @param state arrays of a number for each parameter
 */
record VectorizedUpdater(List<INDArray> state, Rule rule) {
    /** The arithmetic of all steps. */
    interface Rule {
        /** Returns the arithmetic of a step, which divides the gradients by a divisor. */
        Step of(int iteration, int epoch, float divisor);
    }

    /** The arithmetic of one step. */
    interface Step {
        /**
         * Makes updates of the first gradients of an array, in place. The loops have to be such that the compiler turns
         * them into vector instructions.
         *
         * @param g gradients, to be replaced by the updates
         * @param state for each array of the state its numbers for the same parameters, to be replaced
         */
        void run(float[] g, float[][] state, int size);
    }

    /** Returns the same arithmetic as that of an updater of ND4J's; empty if there is none, or it's null. */
    static Optional<VectorizedUpdater> of(GradientUpdater<?> plain) {
        if (plain == null) {
            return Optional.empty();
        }
        // Subclasses may compute anything.
        if (plain.getClass() == AdamUpdater.class) {
            return Optional.of(adam((AdamUpdater) plain));
        }
        if (plain.getClass() == NesterovsUpdater.class) {
            return Optional.of(nesterovs((NesterovsUpdater) plain));
        }
        if (plain.getClass() == SgdUpdater.class) {
            return Optional.of(sgd((SgdUpdater) plain));
        }
        return plain.getClass() == NoOpUpdater.class ? Optional.of(noOp()) : Optional.empty();
    }

    /**
     * With gradient g, step t counted from 0, and learning rate α: m = β₁m + (1 − β₁)g and v = β₂v + (1 − β₂)g². The
     * update is m · α√(1 − β₂ᵗ⁺¹)/(1 − β₁ᵗ⁺¹) / (√v + ε), as in section 2 of Kingma and Ba, <a
     * href="https://arxiv.org/abs/1412.6980">Adam: A Method for Stochastic Optimization</a>.
     */
    private static VectorizedUpdater adam(AdamUpdater plain) {
        // It has no state before its first step.
        return new VectorizedUpdater(
                Arrays.asList(plain.getM(), plain.getV()),
                (iteration, epoch, divisor) -> adam(plain.getConfig(), iteration, epoch, divisor));
    }

    private static Step adam(Adam adam, int iteration, int epoch, float divisor) {
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

    /**
     * With gradient g, learning rate α and momentum µ: w = µv − αg, the update is µv − (1 + µ)w, and w takes the place
     * of v. DL4J subtracts updates. As in Stanford's <a
     * href="https://cs231n.github.io/neural-networks-3/#sgd">CS231n</a>.
     */
    private static VectorizedUpdater nesterovs(NesterovsUpdater plain) {
        return new VectorizedUpdater(Arrays.asList(plain.getV()), (iteration, epoch, divisor) -> {
            float rate = (float) plain.getConfig().getLearningRate(iteration, epoch);
            float momentum = (float) plain.getConfig().currentMomentum(iteration, epoch);
            return (g, state, size) -> nesterovs(g, state[0], size, rate, momentum, divisor);
        });
    }

    private static void nesterovs(float[] g, float[] v, int size, float rate, float momentum, float divisor) {
        for (int i = 0; i < size; i++) {
            float before = momentum * v[i];
            v[i] = before - rate * (g[i] / divisor);
            g[i] = before - (1 + momentum) * v[i];
        }
    }

    /** The update is the gradient times the learning rate. */
    private static VectorizedUpdater sgd(SgdUpdater plain) {
        return new VectorizedUpdater(List.of(), (iteration, epoch, divisor) -> {
            float rate = (float) plain.getConfig().getLearningRate(iteration, epoch);
            return (g, state, size) -> {
                for (int i = 0; i < size; i++) {
                    g[i] = rate * (g[i] / divisor);
                }
            };
        });
    }

    /** Batch normalization uses it: the changes of its running statistics are updates already. */
    private static VectorizedUpdater noOp() {
        return new VectorizedUpdater(List.of(), (iteration, epoch, divisor) -> (g, state, size) -> {
            for (int i = 0; i < size; i++) {
                g[i] /= divisor;
            }
        });
    }

    /** Returns the pass of an update; empty if numbers are scattered in memory, where ND4J updates. */
    Optional<FlatFloats.Pass> pass(StepKernels.Update update) {
        return FlatFloats.of(update.gradients())
                .flatMap(g -> FlatFloats.ofAll(state).map(flat -> {
                    Step step = rule.of(update.iteration(), update.epoch(), update.divisor());
                    return new FlatFloats.Pass(g.length(), (start, size) -> {
                        FloatBuffer[] others = flat.stream()
                                .map(array -> array.range(start, size))
                                .toArray(FloatBuffer[]::new);
                        run(step, g.range(start, size), others);
                        return 0;
                    });
                }));
    }

    private static void run(Step step, FloatBuffer gradients, FloatBuffer[] others) {
        float[] g = new float[FlatFloats.CHUNK];
        float[][] chunks = new float[others.length][FlatFloats.CHUNK];
        while (gradients.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, gradients.remaining());
            int at = gradients.position();
            gradients.get(at, g, 0, size);
            for (int i = 0; i < others.length; i++) {
                others[i].get(at, chunks[i], 0, size);
            }
            step.run(g, chunks, size);
            gradients.put(g, 0, size);
            for (int i = 0; i < others.length; i++) {
                others[i].put(at, chunks[i], 0, size);
            }
        }
    }
}
