package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;

/** Every parameter ends as in DL4J, whichever code divides gradients by the minibatch. */
class MinibatchDivisionTest {
    static final int MINIBATCH = 7;

    /** The settings that decide which code divides. */
    record Case(
            String name,
            IUpdater updater,
            Consumer<NeuralNetConfiguration> setting,
            Consumer<DenseLayer.Builder> layer) {
        Case(String name, IUpdater updater, Consumer<DenseLayer.Builder> layer) {
            this(name, updater, conf -> {}, layer);
        }

        @Override
        public String toString() {
            return name;
        }

        private MultiLayerNetwork network() {
            DenseLayer.Builder second = new DenseLayer.Builder().nOut(9).activation(Activation.TANH);
            layer.accept(second);
            MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                    .seed(3)
                    .updater(updater)
                    .list()
                    .layer(Networks.dense(12, Activation.RELU))
                    .layer(new BatchNormalization())
                    .layer(second.build())
                    .layer(Networks.softmax(3))
                    .setInputType(InputType.feedForward(5))
                    .build());
            network.getLayerWiseConfigurations().getConfs().forEach(setting);
            network.init();
            return network;
        }
    }

    static Stream<Case> cases() {
        return Stream.of(
                new Case("momentum", new Nesterovs(0.05, 0.9), layer -> {}),
                new Case("Adam", new Adam(0.01), layer -> {}),
                new Case("SGD", new Sgd(0.1), layer -> {}),
                new Case("not averaged", new Nesterovs(0.01, 0.9), conf -> conf.setMiniBatch(false), layer -> {}),
                new Case("L2", new Nesterovs(0.05, 0.9), layer -> layer.l2(0.1)),
                new Case("L1", new Sgd(0.05), layer -> layer.l1(0.02)),
                new Case("weight decay", new Nesterovs(0.05, 0.9), layer -> layer.weightDecay(0.1)),
                new Case("clipped", new Nesterovs(0.05, 0.9), layer -> layer.gradientNormalization(
                                GradientNormalization.ClipL2PerLayer)
                        .gradientNormalizationThreshold(0.01)),
                new Case("other updater", new Nesterovs(0.05, 0.9), layer -> layer.updater(new RmsProp(0.01))),
                new Case("only other updaters", new RmsProp(0.01), layer -> {}),
                new Case("without an update", new Adam(0.01), layer -> layer.updater(new NoOp())));
    }

    static DataSet batch(int seed) {
        Random random = new Random(seed);
        INDArray labels = Nd4j.create(DataType.FLOAT, MINIBATCH, 3);
        for (int i = 0; i < MINIBATCH; i++) {
            labels.putScalar(i, random.nextInt(3), 1);
        }
        return new DataSet(gaussian(random, 1, MINIBATCH, 5), labels);
    }

    static AmpConfig inFloat() {
        return AmpConfig.builder()
                .engine(OneDnnEngine.NAME)
                .precision(Precision.FLOAT)
                .build();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void trainsAMultiLayerNetworkAsDl4jDoes(Case what) {
        MultiLayerNetwork expected = what.network();
        MultiLayerNetwork actual = what.network();
        INDArray initial = actual.params().dup();
        try (MixedPrecision amp = MixedPrecision.enable(actual, inFloat())) {
            for (int step = 0; step < 4; step++) {
                expected.fit(batch(step));
                actual.fit(batch(step));
            }
            assertEquals(0, amp.stepsSkipped());
        }
        assertTrue(initial.distance2(expected.params()) > 0.1, "the network was to learn");
        Agreement.assertWithin("parameters", expected.params(), actual.params(), 1e-5);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void trainsAComputationGraphAsDl4jDoes(Case what) {
        ComputationGraph expected = what.network().toComputationGraph();
        ComputationGraph actual = what.network().toComputationGraph();
        try (MixedPrecision amp = MixedPrecision.enable(actual, inFloat())) {
            for (int step = 0; step < 4; step++) {
                expected.fit(batch(step));
                actual.fit(batch(step));
            }
            assertEquals(0, amp.stepsSkipped());
        }
        Agreement.assertWithin("parameters", expected.params(), actual.params(), 1e-5);
    }

    static Stream<Named<Consumer<BaseLayer>>> changes() {
        return Stream.of(
                Named.of("L2", layer -> layer.setRegularization(List.of(new L2Regularization(0.1)))),
                Named.of("weight decay", layer -> layer.setRegularization(List.of(new WeightDecay(0.1, true)))),
                Named.of("clipped", layer -> {
                    layer.setGradientNormalization(GradientNormalization.ClipL2PerLayer);
                    layer.setGradientNormalizationThreshold(0.01);
                }));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void whatIsChangedInTheMiddleOfTrainingTakesEffectAsInDl4j(Consumer<BaseLayer> change) {
        Case plain = new Case("momentum", new Nesterovs(0.05, 0.9), layer -> {});
        MultiLayerNetwork unchanged = plain.network();
        MultiLayerNetwork expected = plain.network();
        MultiLayerNetwork actual = plain.network();
        try (MixedPrecision amp = MixedPrecision.enable(actual, inFloat())) {
            for (int step = 0; step < 6; step++) {
                if (step == 2) {
                    change.accept((BaseLayer) expected.getLayer(2).conf().getLayer());
                    change.accept((BaseLayer) actual.getLayer(2).conf().getLayer());
                }
                if (step == 4) {
                    for (MultiLayerNetwork network : List.of(expected, actual)) {
                        BaseLayer layer = (BaseLayer) network.getLayer(2).conf().getLayer();
                        layer.setRegularization(List.of());
                        layer.setGradientNormalization(GradientNormalization.None);
                    }
                }
                unchanged.fit(batch(step));
                expected.fit(batch(step));
                actual.fit(batch(step));
            }
            assertEquals(0, amp.stepsSkipped());
        }
        assertTrue(unchanged.params().distance2(expected.params()) > 1e-3, "the change was to matter");
        Agreement.assertWithin("parameters", expected.params(), actual.params(), 1e-5);
    }
}
