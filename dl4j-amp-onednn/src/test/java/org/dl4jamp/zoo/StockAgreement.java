package org.dl4jamp.zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Assumptions;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Compares outputs and gradients of networks with those of stock DL4J. Differences are norms, relative to stock DL4J's
 * array.
 *
 * <p>In FP32 they may be 1e-5, or {@value #MARGIN} times what stock DL4J's own numbers move when its parameters move by
 * the roundings of a product, in at most {@value #NEIGHBOURS} draws. Several networks of the zoo are ill-conditioned
 * with their initial weights. In others two numbers of a pooling's window are as good as equal, and their gradient goes
 * to the one or the other.
 *
 * <p>In BFLOAT16 the output may be off by {@value #MOST} times what rounding the weights alone makes of it in stock
 * DL4J, since activations are rounded, too.
 */
final class StockAgreement {
    private static final double FLOAT_ERROR = 1e-5;
    private static final double MARGIN = 5;
    /** Where rounding moves stock DL4J's own numbers by more, they say nothing: {@code InceptionResNetV1}. */
    private static final double CHAOTIC = 0.01;

    private static final double MOST = 2.5;
    private static final int NEIGHBOURS = 8;
    /** Gradients that are smaller than this beside the whole are nothing but rounding. */
    private static final double NEGLIGIBLE = 1e-6;

    private StockAgreement() {}

    /** Asserts that outputs and gradients in FP32 agree, in training and in inference mode. */
    static void assertFloatAgrees(Subject subject) {
        assertFloatAgrees(subject, subject);
    }

    /**
     * Asserts that outputs and gradients in FP32 are those of another network, in training and in inference mode.
     *
     * @param stock with the same parameters, which stock DL4J can train
     */
    static void assertFloatAgrees(Subject stock, Subject subject) {
        Numbers expected = Numbers.of(stock);
        Numbers actual;
        try (MixedPrecision amp = subject.enable(Precision.FLOAT)) {
            actual = Numbers.of(subject);
            assertEquals(0, amp.stepsSkipped());
        }
        INDArray inferred;
        try (InferenceMode mode = subject.infer(Precision.FLOAT)) {
            assertEquals("onednn", mode.engine());
            inferred = subject.output();
        }
        INDArray parameters = stock.parameters();
        Spread spread = Spread.NONE;
        Optional<String> difference = expected.difference(actual, inferred, spread);
        for (int seed = 1; difference.isPresent() && seed <= NEIGHBOURS; seed++) {
            stock.perturb(seed);
            spread = spread.with(expected, Numbers.of(stock));
            stock.setParameters(parameters);
            difference = expected.difference(actual, inferred, spread);
        }
        assertEquals(Optional.empty(), difference);
    }

    /** The output of a network and its gradients by the names of the parameters. */
    private record Numbers(INDArray output, Map<String, INDArray> gradients) {
        static Numbers of(Subject subject) {
            return new Numbers(subject.output(), subject.gradients());
        }

        /** Returns the first number of another computation that is farther off than rounding explains. */
        Optional<String> difference(Numbers other, INDArray inferred, Spread spread) {
            assertEquals(gradients.keySet(), other.gradients.keySet());
            double whole = norm(gradients);
            Stream<Optional<String>> outputs = Stream.of(
                    tooFar("output", error(output, other.output), most(spread.output())),
                    tooFar("output in inference mode", error(output, inferred), most(spread.output())),
                    tooFar("gradient", distance(other) / whole, most(spread.gradient())));
            Stream<Optional<String>> parameters = gradients.keySet().stream().map(name -> {
                INDArray gradient = gradients.get(name);
                double most = most(spread.parameter()) * norm(gradient) + NEGLIGIBLE * whole;
                return tooFar("gradient of " + name, gradient.distance2(other.gradients.get(name)), most);
            });
            return Stream.concat(outputs, parameters).flatMap(Optional::stream).findFirst();
        }

        double distance(Numbers other) {
            return Math.sqrt(gradients.keySet().stream()
                    .mapToDouble(name -> gradients.get(name).distance2(other.gradients.get(name)))
                    .map(size -> size * size)
                    .sum());
        }

        private static double most(double spread) {
            return spread > CHAOTIC ? Double.POSITIVE_INFINITY : Math.max(FLOAT_ERROR, MARGIN * spread);
        }

        private static Optional<String> tooFar(String what, double error, double most) {
            return error <= most ? Optional.empty() : Optional.of(what + ": " + error + " beside " + most);
        }
    }

    /**
     * How far rounding of the parameters moves stock DL4J's numbers, relative to them.
     *
     * @param output that of the output
     * @param gradient that of all gradients together
     * @param parameter the largest of the gradients of one parameter
     */
    private record Spread(double output, double gradient, double parameter) {
        static final Spread NONE = new Spread(0, 0, 0);

        Spread with(Numbers expected, Numbers neighbour) {
            double whole = norm(expected.gradients());
            double worst = expected.gradients().keySet().stream()
                    .filter(name -> norm(expected.gradients().get(name)) > NEGLIGIBLE * whole)
                    .mapToDouble(name -> error(
                            expected.gradients().get(name),
                            neighbour.gradients().get(name)))
                    .max()
                    .orElseThrow();
            return new Spread(
                    Math.max(output, error(expected.output(), neighbour.output())),
                    Math.max(gradient, expected.distance(neighbour) / whole),
                    Math.max(parameter, worst));
        }
    }

    /** Asserts that outputs in BFLOAT16 are close, in training and in inference mode. */
    static void assertBfloat16IsClose(Subject subject) {
        Assumptions.assumeTrue(Types.halfPrecision() == Precision.BFLOAT16, "no BFLOAT16 on this CPU");
        INDArray parameters = subject.parameters();
        INDArray output = subject.output();
        subject.round();
        double most = MOST * error(output, subject.output()) + FLOAT_ERROR;
        subject.setParameters(parameters);
        try (MixedPrecision amp = subject.enable(Precision.BFLOAT16)) {
            assertAtMost("output, training " + amp.precision(), error(output, subject.output()), most);
        }
        try (InferenceMode mode = subject.infer(Precision.BFLOAT16)) {
            assertAtMost("output in inference mode of " + mode.engine(), error(output, subject.output()), most);
        }
    }

    private static void assertAtMost(String what, double error, double most) {
        assertTrue(error <= most, () -> what + ": " + error + " beside " + most);
    }

    private static double error(INDArray expected, INDArray actual) {
        return expected.distance2(actual.castTo(expected.dataType())) / norm(expected);
    }

    private static double norm(INDArray array) {
        return array.norm2Number().doubleValue();
    }

    private static double norm(Map<String, INDArray> arrays) {
        return Math.sqrt(arrays.values().stream()
                .mapToDouble(StockAgreement::norm)
                .map(size -> size * size)
                .sum());
    }
}
