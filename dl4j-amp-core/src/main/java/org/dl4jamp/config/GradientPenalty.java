package org.dl4jamp.config;

import org.dl4jamp.precision.AmpException;

/**
 * A penalty on the norm of the gradient: training minimizes {@code L(w) + coefficient · ‖∇L(w)‖₂} in place of the loss
 * {@code L}, and so prefers flat minima.
 *
 * <pre>
 * AmpConfig.builder().gradientPenalty(GradientPenalty.of(0.02, 0.05)).build();
 * </pre>
 *
 * <p>The gradient of the penalty is {@code H g / ‖g‖}, with {@code g} the gradient and {@code H} the Hessian matrix of
 * the loss. DL4J can't differentiate a gradient, so it's a finite difference along the normed gradient, of the FP32
 * master weights:
 *
 * <pre>
 * a = coefficient / radius
 * (1 - a) · g(w) + a · g(w + radius · g / ‖g‖)
 * </pre>
 *
 * <p>Method: Zhao, Zhang and Hu, Penalizing Gradient Norm for Efficiently Improving Generalization in Deep Learning,
 * 2022; with {@code coefficient == radius} it's the sharpness-aware minimization of Foret et al., 2021. Each step costs
 * a second forward and backward pass, and a third where the first two can't have the same random numbers: with dropout
 * or weight noise. It takes two more arrays of the parameters' size.
 *
 * <p>The error: a forward difference leaves {@code coefficient · radius / 2} times the third derivative of the loss
 * along the normed gradient, nothing if the loss is quadratic. And what is rounded in either gradient is multiplied by
 * {@code a}. Layers of lower precision round the weights, too: moved by less than their last digit, some weights move
 * by a whole digit and most don't. That is right on average over many weights, but noisy. So the radius shouldn't be
 * much smaller than the 0.01 to 0.1 of the papers, and the coefficient not much larger than the radius.
 *
 * <p>The loss is the one that DL4J reports, without L1, L2 and weight decay; it's the mean over the minibatch, or the
 * sum with {@code miniBatch(false)}. Frozen parameters and those without a gradient, such as batch normalization's
 * running statistics, are neither part of the norm nor moved. Running statistics are those of the first pass. Listeners
 * see one pass, and the score is the loss {@code L(w)}.
 *
 * @param coefficient weight of the norm, above 0
 * @param radius distance by which the weights are moved for the second gradient, in the parameters' units, above 0
 */
public record GradientPenalty(double coefficient, double radius) {
    public GradientPenalty {
        check("coefficient", coefficient, "leave the penalty out to have none");
        check("radius", radius, "0.05 is a good start");
    }

    /**
     * Creates a penalty.
     *
     * @throws AmpException if a number isn't finite or not above 0
     */
    public static GradientPenalty of(double coefficient, double radius) {
        return new GradientPenalty(coefficient, radius);
    }

    private static void check(String name, double value, String advice) {
        if (!(value >= Float.MIN_NORMAL && value <= Float.MAX_VALUE)) {
            throw new AmpException("GradientPenalty: " + name + " is " + value + "; it has to be from "
                    + Float.MIN_NORMAL + " to " + Float.MAX_VALUE + ", the range of FP32; " + advice);
        }
    }

    /** Returns the call that makes it. */
    @Override
    public String toString() {
        return "GradientPenalty.of(" + coefficient + ", " + radius + ")";
    }
}
