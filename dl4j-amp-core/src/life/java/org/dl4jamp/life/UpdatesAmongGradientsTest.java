package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.OwnMeans;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * The parts of the gradient view beside sums over examples: gradients that DL4J doesn't divide by the minibatch, and
 * updates that it does. Compared with stock DL4J, whose step with a learning rate of 1 is the true gradient.
 */
class UpdatesAmongGradientsTest {
    private static final DataSet DATA = Networks.vectors(16, 20, 3);

    private static BaseOutputLayer centers() {
        return new CenterLossOutputLayer.Builder(LossFunction.MCXENT)
                .nOut(3)
                .activation(Activation.SOFTMAX)
                .lambda(0.3)
                .alpha(0.5)
                .build();
    }

    private static MultiLayerNetwork network(IUpdater updater, DenseLayer hidden, BaseOutputLayer output) {
        hidden.setLayerName("hidden");
        output.setLayerName("out");
        return Networks.init(Networks.builder(updater)
                .list()
                .layer(Networks.dense(16, Activation.TANH))
                .layer(hidden)
                .layer(output)
                .setInputType(InputType.feedForward(20))
                .build());
    }

    /** A network, and which of its parameters aren't learned from. */
    private record Subject(String name, Supplier<MultiLayerNetwork> network, List<String> updates) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Stream<Subject> subjects() {
        return Stream.of(
                new Subject(
                        "gradients that aren't divided",
                        () -> network(new Sgd(1), new OwnMeans(12), Networks.softmax(3)),
                        List.of()),
                new Subject(
                        "center loss",
                        () -> network(new Sgd(1), Networks.dense(12, Activation.TANH), centers()),
                        List.of("2_cL")),
                new Subject(
                        "center loss with gradients that are subtracted as they are",
                        () -> network(new NoOp(), Networks.dense(12, Activation.TANH), centers()),
                        List.of("2_cL")),
                new Subject(
                        "gradients that are subtracted as they are",
                        () -> network(new NoOp(), Networks.dense(12, Activation.TANH), Networks.softmax(3)),
                        List.of()));
    }

    private static AmpConfig.Builder config() {
        return AmpConfig.builder().precision(Precision.FLOAT).engine("dl4j");
    }

    /** The step of stock DL4J: true gradients, and updates. */
    private static MultiLayerNetwork stepOfStock(MultiLayerNetwork network) {
        MultiLayerNetwork step =
                new MultiLayerNetwork(network.getLayerWiseConfigurations().clone());
        step.init(network.params().dup(), false);
        MultiLayerNetwork after =
                new MultiLayerNetwork(network.getLayerWiseConfigurations().clone());
        after.init(network.params().dup(), false);
        after.fit(DATA);
        step.params().subi(after.params());
        return step;
    }

    /** The step that an enabled network makes. */
    private static MultiLayerNetwork stepOf(MultiLayerNetwork network, AmpConfig config) {
        MultiLayerNetwork step =
                new MultiLayerNetwork(network.getLayerWiseConfigurations().clone());
        step.init(network.params().dup(), false);
        MixedPrecision.enable(network, config);
        network.fit(DATA);
        step.params().subi(network.params());
        return step;
    }

    private static double norm(MultiLayerNetwork gradients, List<String> updates) {
        return Math.sqrt(gradients.paramTable().entrySet().stream()
                .filter(entry -> !updates.contains(entry.getKey()))
                .mapToDouble(entry -> Math.pow(entry.getValue().norm2Number().doubleValue(), 2))
                .sum());
    }

    private static void assertClose(MultiLayerNetwork expected, MultiLayerNetwork actual) {
        expected.paramTable().forEach((name, array) -> {
            double off = array.sub(actual.getParam(name)).norm2Number().doubleValue();
            double norm = array.norm2Number().doubleValue();
            assertTrue(off <= 1e-4 * norm + 1e-7, () -> name + " is off by " + off + " of " + norm);
        });
    }

    @ParameterizedTest
    @MethodSource("subjects")
    void theClippedNormIsThatOfGradientsAlone(Subject subject) {
        MultiLayerNetwork expected = stepOfStock(subject.network().get());
        double norm = norm(expected, subject.updates());
        double limit = norm / 4;
        expected.paramTable().forEach((name, step) -> {
            if (!subject.updates().contains(name)) {
                step.muli(limit / norm);
            }
        });
        MultiLayerNetwork network = subject.network().get();
        MultiLayerNetwork actual =
                stepOf(network, config().clipGradientNorm(limit).build());
        assertEquals(
                norm, MixedPrecision.of(network).orElseThrow().gradientNorm().orElseThrow(), 1e-4 * norm);
        assertClose(expected, actual);
    }

    @ParameterizedTest
    @MethodSource("subjects")
    void valuesOfGradientsAloneAreClipped(Subject subject) {
        MultiLayerNetwork expected = stepOfStock(subject.network().get());
        double limit = norm(expected, subject.updates()) / 40;
        expected.paramTable().forEach((name, step) -> {
            if (!subject.updates().contains(name)) {
                for (int i = 0; i < step.length(); i++) {
                    step.putScalar(i, Math.max(-limit, Math.min(limit, step.getFloat(i))));
                }
            }
        });
        assertClose(
                expected,
                stepOf(
                        subject.network().get(),
                        config().clipGradientValue(limit).build()));
    }

    @ParameterizedTest
    @MethodSource("subjects")
    void thePenaltyIsThatOfGradientsAlone(Subject subject) {
        double coefficient = 0.04;
        double radius = 0.05;
        MultiLayerNetwork expected = stepOfStock(subject.network().get());
        double norm = norm(expected, subject.updates());
        MultiLayerNetwork uphill = subject.network().get();
        uphill.paramTable().forEach((name, array) -> {
            if (!subject.updates().contains(name)) {
                array.addi(expected.getParam(name).mul(radius / norm));
            }
        });
        MultiLayerNetwork second = stepOfStock(uphill);
        double a = coefficient / radius;
        expected.paramTable().forEach((name, step) -> {
            if (!subject.updates().contains(name)) {
                step.muli(1 - a).addi(second.getParam(name).mul(a));
            }
        });
        assertClose(
                expected,
                stepOf(
                        subject.network().get(),
                        config().gradientPenalty(GradientPenalty.of(coefficient, radius))
                                .build()));
    }

    @ParameterizedTest
    @MethodSource("subjects")
    void withoutLimitsAStepIsThatOfStock(Subject subject) {
        assertClose(
                stepOfStock(subject.network().get()), stepOf(subject.network().get(), config().build()));
    }

    private static void assertRefused(MultiLayerNetwork network, String layer, String parameter) {
        AmpException e = assertThrows(
                AmpException.class,
                () -> MixedPrecision.enable(network, config().accumulate(4).build()));
        assertTrue(
                e.getMessage().startsWith("accumulate(4): parameter \"" + parameter + "\" of layer \"" + layer + "\""),
                e::getMessage);
        assertFalse(Side.isEnabled(network));
        MultiLayerNetwork stock = network.clone();
        network.fit(DATA);
        stock.fit(DATA);
        assertEquals(stock.params(), network.params());
    }

    @Test
    void whatCantBeAddedUpIsRefusedWithAccumulation() {
        assertRefused(network(new Sgd(1), new OwnMeans(12), Networks.softmax(3)), "hidden", "W");
        assertRefused(network(new Sgd(1), Networks.dense(12, Activation.TANH), centers()), "out", "cL");
        assertRefused(network(new NoOp(), Networks.dense(12, Activation.TANH), centers()), "out", "cL");
    }
}
