package org.dl4jamp.randomized;

import java.util.List;
import org.dl4jamp.onednn.activation.UsersFunctions;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationLReLU;
import org.nd4j.linalg.activations.impl.ActivationRReLU;

/** Activation functions without jumps, so that rounding can't make a difference. */
final class Functions {
    /** Those of one value. Left out: THRESHOLDEDRELU, which jumps. */
    private static final List<Activation> OF_ONE_VALUE = List.of(
            Activation.IDENTITY,
            Activation.RELU,
            Activation.RELU,
            Activation.TANH,
            Activation.SIGMOID,
            Activation.SOFTPLUS,
            Activation.LEAKYRELU,
            Activation.ELU,
            Activation.HARDTANH,
            Activation.HARDSIGMOID,
            Activation.SOFTSIGN,
            Activation.SELU,
            Activation.GELU,
            Activation.SWISH,
            Activation.MISH,
            Activation.RATIONALTANH,
            Activation.RECTIFIEDTANH,
            Activation.RELU6,
            Activation.CUBE);

    private Functions() {}

    /** Returns any function of one value, more often one of the usual ones. */
    static IActivation any(Draw draw) {
        if (draw.chance(0.5)) {
            return draw.of(Activation.IDENTITY, Activation.RELU, Activation.TANH)
                    .getActivationFunction();
        }
        return switch (draw.between(0, 19)) {
            case 0 -> new ActivationLReLU(draw.real(0.05, 0.4));
            // Of one slope: others are drawn in each pass, of which stock DL4J has fewer where micro-batches make a
            // step.
            case 1 -> {
                double slope = draw.real(0.1, 0.4);
                yield new ActivationRReLU(slope, slope);
            }
            default -> draw.from(OF_ONE_VALUE).getActivationFunction();
        };
    }

    /** Returns any function of a whole array, or of one value: softmax, a user's, or one of the others. */
    static IActivation ofArrays(Draw draw) {
        if (draw.chance(0.08)) {
            return Activation.SOFTMAX.getActivationFunction();
        }
        return draw.chance(0.08) ? new UsersFunctions.Scaled(draw.real(0.5, 1.5), draw.real(0.5, 1.5)) : any(draw);
    }

    static IActivation bounded(Draw draw) {
        if (draw.chance(0.1)) {
            return Activation.SOFTMAX.getActivationFunction();
        }
        if (draw.chance(0.1)) {
            return new UsersFunctions.Scaled(draw.real(0.5, 1.5), draw.real(0.5, 1.5));
        }
        return draw.of(Activation.TANH, Activation.TANH, Activation.SIGMOID, Activation.SOFTSIGN, Activation.HARDTANH)
                .getActivationFunction();
    }

    /** Returns a function of recurrent attention that has no jump in its slope. */
    static Activation ofAttention(Draw draw) {
        return draw.of(
                Activation.TANH,
                Activation.TANH,
                Activation.SIGMOID,
                Activation.IDENTITY,
                Activation.SOFTMAX,
                Activation.SOFTSIGN,
                Activation.SOFTPLUS,
                Activation.ELU,
                Activation.GELU);
    }

    static IActivation gate(Draw draw) {
        if (draw.chance(0.05)) {
            return Activation.SOFTMAX.getActivationFunction();
        }
        return draw.of(Activation.SIGMOID, Activation.SIGMOID, Activation.HARDSIGMOID)
                .getActivationFunction();
    }
}
