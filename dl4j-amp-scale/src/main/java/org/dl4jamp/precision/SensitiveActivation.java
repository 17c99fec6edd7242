package org.dl4jamp.precision;

import java.util.Map;
import java.util.Optional;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationCube;
import org.nd4j.linalg.activations.impl.ActivationGELU;
import org.nd4j.linalg.activations.impl.ActivationMish;
import org.nd4j.linalg.activations.impl.ActivationRationalTanh;
import org.nd4j.linalg.activations.impl.ActivationSoftPlus;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.activations.impl.ActivationSwish;

/** Activation functions that have to be evaluated in FP32, and why. */
public enum SensitiveActivation {
    /** A sum of exponentials over all classes. Finite in half precision, but of few digits where it matters. */
    SOFTMAX("softmax, a sum of exponentials, in FP32"),
    /**
     * ND4J evaluates the function or its derivative with powers or exponentials of the argument, which exceed 65504 for
     * ordinary arguments. The function or the gradient is then infinite or NaN ({@code SensitiveActivationTest} shows
     * it).
     */
    OVERFLOWS("its activation function takes powers or exponentials, in FP32"),
    /** Not one of ND4J's. */
    UNKNOWN("its activation function is unknown to dl4j-amp");

    private static final String KNOWN_PACKAGE = "org.nd4j.linalg.activations.impl";
    private static final Map<Class<?>, SensitiveActivation> SENSITIVE = Map.of(
            ActivationSoftmax.class, SOFTMAX,
            ActivationSoftPlus.class, OVERFLOWS,
            ActivationSwish.class, OVERFLOWS,
            ActivationGELU.class, OVERFLOWS,
            ActivationMish.class, OVERFLOWS,
            ActivationCube.class, OVERFLOWS,
            ActivationRationalTanh.class, OVERFLOWS);

    private final String reason;

    SensitiveActivation(String reason) {
        this.reason = reason;
    }

    public String reason() {
        return reason;
    }

    /**
     * Returns the reason for which a function has to be evaluated in FP32.
     *
     * @param activation the function, null if there is none
     * @return empty if half precision will do
     */
    public static Optional<SensitiveActivation> of(IActivation activation) {
        if (activation == null) {
            return Optional.empty();
        }
        Class<?> type = activation.getClass();
        boolean known = type.getPackageName().equals(KNOWN_PACKAGE);
        return Optional.ofNullable(SENSITIVE.getOrDefault(type, known ? null : UNKNOWN));
    }
}
