package org.dl4jamp.onednn.primitive;

import java.util.Map;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl.algorithm;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationCube;
import org.nd4j.linalg.activations.impl.ActivationELU;
import org.nd4j.linalg.activations.impl.ActivationGELU;
import org.nd4j.linalg.activations.impl.ActivationHardSigmoid;
import org.nd4j.linalg.activations.impl.ActivationHardTanH;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationLReLU;
import org.nd4j.linalg.activations.impl.ActivationMish;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.activations.impl.ActivationReLU6;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationSoftPlus;
import org.nd4j.linalg.activations.impl.ActivationSwish;
import org.nd4j.linalg.activations.impl.ActivationTanH;

/** An activation function in oneDNN's terms: an algorithm and its two parameters. */
public record Eltwise(algorithm function, float alpha, float beta) {
    public static final Eltwise IDENTITY = new Eltwise(algorithm.eltwise_linear, 1, 0);
    public static final Eltwise RELU = new Eltwise(algorithm.eltwise_relu, 0, 0);

    /** ND4J's GELU is {@code x * sigmoid(1.702 x)} unless the configuration names the precise one. */
    private static final float GELU_SLOPE = 1.702f;

    private static final Eltwise HARD_TANH = new Eltwise(algorithm.eltwise_clip, -1, 1);
    private static final Eltwise RELU6 = new Eltwise(algorithm.eltwise_clip, 0, 6);

    private static final Map<Class<?>, Eltwise> WITHOUT_PARAMETERS = Map.of(
            ActivationIdentity.class, IDENTITY,
            ActivationTanH.class, new Eltwise(algorithm.eltwise_tanh, 0, 0),
            ActivationSigmoid.class, new Eltwise(algorithm.eltwise_logistic, 0, 0),
            ActivationSwish.class, new Eltwise(algorithm.eltwise_swish, 1, 0),
            ActivationSoftPlus.class, new Eltwise(algorithm.eltwise_soft_relu, 1, 0),
            ActivationMish.class, new Eltwise(algorithm.eltwise_mish, 0, 0),
            ActivationCube.class, new Eltwise(algorithm.eltwise_pow, 1, 3),
            ActivationHardSigmoid.class, new Eltwise(algorithm.eltwise_hardsigmoid, 0.2f, 0.5f),
            ActivationHardTanH.class, HARD_TANH,
            ActivationReLU6.class, RELU6);

    /** Returns {@code factor x + summand}. */
    public static Eltwise linear(double factor, double summand) {
        return new Eltwise(algorithm.eltwise_linear, (float) factor, (float) summand);
    }

    /**
     * Returns oneDNN's counterpart of one of DL4J's functions, empty if there is none with the same values and
     * derivatives.
     */
    public static Optional<Eltwise> of(IActivation activation) {
        // Subclasses may compute anything.
        Class<?> type = activation.getClass();
        if (type == ActivationReLU.class) {
            return relu((ActivationReLU) activation);
        }
        if (type == ActivationLReLU.class) {
            double slope = ((ActivationLReLU) activation).getAlpha();
            return Optional.of(new Eltwise(algorithm.eltwise_relu, (float) slope, 0))
                    // ND4J's has a slope at zero even so, which ReLU hasn't.
                    .filter(leaky -> !leaky.equals(RELU));
        }
        if (type == ActivationELU.class) {
            double alpha = ((ActivationELU) activation).getAlpha();
            return Optional.of(new Eltwise(algorithm.eltwise_elu, (float) alpha, 0));
        }
        if (type == ActivationGELU.class) {
            // ND4J's precise one leaves the cubic term out of tanh's argument, which oneDNN's has.
            boolean precise = ((ActivationGELU) activation).isPrecise();
            return precise ? Optional.empty() : Optional.of(new Eltwise(algorithm.eltwise_swish, GELU_SLOPE, 0));
        }
        return Optional.ofNullable(WITHOUT_PARAMETERS.get(type));
    }

    /**
     * Returns the function whose derivative by oneDNN is that of this function by ND4J: oneDNN's clip has no slope at
     * its lower bound and has one at its upper bound.
     */
    public Eltwise derivative() {
        if (equals(HARD_TANH)) {
            return new Eltwise(function, Math.nextDown(alpha), beta);
        }
        return equals(RELU6) ? new Eltwise(function, alpha, Math.nextDown(beta)) : this;
    }

    /** Returns whether ND4J drops any gradient, NaN too, where the slope is zero: oneDNN multiplies by the zero. */
    public boolean dropsGradients() {
        return equals(RELU) || equals(RELU6);
    }

    /** Returns whether ND4J takes its slope at zero from the right, and oneDNN from the left. */
    public boolean hasOtherSlopeAtZero() {
        return function == algorithm.eltwise_relu && alpha != 0;
    }

    private static Optional<Eltwise> relu(ActivationReLU relu) {
        boolean bounded = relu.getMax() != null && relu.getMax() != 0;
        boolean shifted = relu.getThreshold() != null && relu.getThreshold() != 0;
        boolean sloped = relu.getNegativeSlope() != null && relu.getNegativeSlope() != 0;
        return bounded || shifted || sloped ? Optional.empty() : Optional.of(RELU);
    }
}
