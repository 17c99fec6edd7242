package org.dl4jamp.onednn;

import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationELU;
import org.nd4j.linalg.activations.impl.ActivationLReLU;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationTanH;

/**
 * An activation function as oneDNN knows it.
 *
 * @param function oneDNN's algorithm
 * @param alpha its first parameter
 * @param beta its second
 */
record Eltwise(dnnl.algorithm function, float alpha, float beta) {
    static final Eltwise RELU = new Eltwise(dnnl.algorithm.eltwise_relu, 0);

    private Eltwise(dnnl.algorithm function, float alpha) {
        this(function, alpha, 0);
    }

    /** {@code factor x + summand} */
    static Eltwise linear(double factor, double summand) {
        return new Eltwise(dnnl.algorithm.eltwise_linear, (float) factor, (float) summand);
    }

    /** oneDNN's counterpart of one of DL4J's functions, empty if there is none with the same values and derivatives. */
    static Optional<Eltwise> of(IActivation activation) {
        // Subclasses may compute anything.
        Class<?> type = activation.getClass();
        if (type == ActivationReLU.class) {
            return relu((ActivationReLU) activation);
        }
        if (type == ActivationLReLU.class) {
            return Optional.of(
                    new Eltwise(dnnl.algorithm.eltwise_relu, (float) ((ActivationLReLU) activation).getAlpha()));
        }
        if (type == ActivationTanH.class) {
            return Optional.of(new Eltwise(dnnl.algorithm.eltwise_tanh, 0));
        }
        if (type == ActivationSigmoid.class) {
            return Optional.of(new Eltwise(dnnl.algorithm.eltwise_logistic, 0));
        }
        if (type == ActivationELU.class) {
            return Optional.of(
                    new Eltwise(dnnl.algorithm.eltwise_elu, (float) ((ActivationELU) activation).getAlpha()));
        }
        return Optional.empty();
    }

    private static Optional<Eltwise> relu(ActivationReLU relu) {
        boolean bounded = relu.getMax() != null && relu.getMax() != 0;
        boolean shifted = relu.getThreshold() != null && relu.getThreshold() != 0;
        boolean sloped = relu.getNegativeSlope() != null && relu.getNegativeSlope() != 0;
        return bounded || shifted || sloped ? Optional.empty() : Optional.of(RELU);
    }
}
