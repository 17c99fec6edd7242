package org.dl4jamp.engine.nd4j;

import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationHardSigmoid;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationTanH;

/** Activation functions by their formulas. */
enum Curve {
    IDENTITY {
        @Override
        Bounded at(Bounded x) {
            return x;
        }

        @Override
        Bounded slopeAt(Bounded x) {
            return Bounded.exact(1);
        }
    },
    TANH {
        @Override
        Bounded at(Bounded x) {
            return x.apply(Math::tanh, 1);
        }

        @Override
        Bounded slopeAt(Bounded x) {
            return x.apply(z -> 1 - Math.tanh(z) * Math.tanh(z), 0.7698003589195)
                    .roundedAs(1);
        }
    },
    SIGMOID {
        @Override
        Bounded at(Bounded x) {
            return x.apply(Curve::sigmoid, 0.25);
        }

        @Override
        Bounded slopeAt(Bounded x) {
            return x.apply(z -> sigmoid(z) * (1 - sigmoid(z)), 0.0962250448650).roundedAs(1);
        }
    },
    HARD_SIGMOID {
        @Override
        Bounded at(Bounded x) {
            return x.apply(z -> Math.min(1, Math.max(0, 0.2 * z + 0.5)), 0.2);
        }

        @Override
        Bounded slopeAt(Bounded x) {
            boolean nearEdge = Math.abs(Math.abs(x.value()) - 2.5) <= x.error() + 1e-5;
            return nearEdge ? new Bounded(0.1, 0.11) : x.apply(z -> Math.abs(z) < 2.5 ? 0.2 : 0, 0);
        }
    },
    RELU {
        @Override
        Bounded at(Bounded x) {
            return x.apply(z -> Math.max(0, z), 1);
        }

        @Override
        Bounded slopeAt(Bounded x) {
            return Math.abs(x.value()) <= x.error() ? new Bounded(0.5, 0.51) : Bounded.exact(x.value() > 0 ? 1 : 0);
        }
    };

    abstract Bounded at(Bounded x);

    abstract Bounded slopeAt(Bounded x);

    private static double sigmoid(double z) {
        return 1 / (1 + Math.exp(-z));
    }

    static Curve of(IActivation function) {
        if (function instanceof ActivationIdentity) {
            return IDENTITY;
        }
        if (function instanceof ActivationTanH) {
            return TANH;
        }
        if (function instanceof ActivationSigmoid) {
            return SIGMOID;
        }
        if (function instanceof ActivationHardSigmoid) {
            return HARD_SIGMOID;
        }
        if (function instanceof ActivationReLU) {
            return RELU;
        }
        throw new IllegalArgumentException("no formula for " + function);
    }
}
