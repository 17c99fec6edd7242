package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.SharedLossScale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Several losses in one network, and several networks: two that feed one another, and such as have one loss scale. */
class SeveralNetworksTest {
    private static Stream<Arguments> everywhere() {
        return Kind.everywhere();
    }

    private static Stream<Side> here() {
        return Side.here();
    }

    private static AmpConfig.Builder config(Side side) {
        return AmpConfig.builder().precision(side.precision()).engine(side.engine());
    }

    // --- several outputs

    private static ComputationGraph twoLosses() {
        return Networks.init(Networks.builder(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.feedForward(20))
                .addLayer("trunk", Networks.dense(32, Activation.TANH), "in")
                .addLayer("left", Networks.dense(16, Activation.RELU), "trunk")
                .addLayer("right", Networks.dense(16, Activation.TANH), "trunk")
                .addLayer("class", Networks.softmax(3), "left")
                .addLayer("value", Networks.regression(2), "right")
                .setOutputs("class", "value")
                .build());
    }

    private static MultiDataSet forTwoLosses() {
        DataSet data = Kind.data();
        INDArray values = data.getFeatures().getColumns(0, 1).dup();
        return new MultiDataSet(new INDArray[] {data.getFeatures()}, new INDArray[] {data.getLabels(), values});
    }

    @ParameterizedTest
    @MethodSource("here")
    void severalLossesHaveOneScaleAndTheirSumIsLearnedAsInFp32(Side side) {
        ComputationGraph stock = twoLosses();
        ComputationGraph network = twoLosses();
        INDArray before = stock.params().dup();
        MixedPrecision amp = side.enable(network);
        for (int i = 0; i < 4; i++) {
            stock.fit(forTwoLosses());
            network.fit(forTwoLosses());
            assertEquals(stock.score(), network.score(), side.ofScore(stock.score()));
        }
        assertEquals(4, amp.stepsTaken());
        side.assertLearnedAlike(before, stock, network);
    }

    @ParameterizedTest
    @MethodSource("here")
    void ifOneOfSeveralLossesIsNotFiniteTheStepIsSkipped(Side side) {
        ComputationGraph network = twoLosses();
        MixedPrecision amp = side.enable(network);
        INDArray before = network.params().dup();
        MultiDataSet bad = forTwoLosses();
        bad.getLabels(1).putScalar(0, 0, Double.POSITIVE_INFINITY);
        network.fit(bad);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(before, network.params());
    }

    // --- two that feed one another

    private static MultiLayerConfiguration generator() {
        return Networks.builder(new Adam(5e-3))
                .list()
                .layer(Networks.dense(24, Activation.TANH))
                .layer(Networks.dense(16, Activation.TANH))
                .layer(Networks.dense(6, Activation.IDENTITY))
                .setInputType(InputType.feedForward(4))
                .build();
    }

    private static MultiLayerConfiguration discriminator() {
        return Networks.builder(new Adam(5e-3))
                .list()
                .layer(Networks.dense(24, Activation.TANH))
                .layer(Networks.dense(16, Activation.TANH))
                .layer(new OutputLayer.Builder(LossFunction.XENT)
                        .nOut(1)
                        .activation(Activation.SIGMOID)
                        .build())
                .setInputType(InputType.feedForward(6))
                .build();
    }

    private static Model of(Kind kind, MultiLayerConfiguration configuration) {
        MultiLayerNetwork network = Networks.init(configuration);
        return kind == Kind.GRAPH ? network.toComputationGraph() : network;
    }

    /** A GAN, as a program writes it with DL4J's own calls. */
    private static final class Gan {
        private static final int BATCH = 32;
        private final Model generator;
        private final Model discriminator;
        private INDArray errors;

        Gan(Kind kind) {
            generator = kind == Kind.GRAPH ? graphWithoutOutput() : of(kind, generator());
            discriminator = of(kind, discriminator());
        }

        private static ComputationGraph graphWithoutOutput() {
            return Networks.init(Networks.builder(new Adam(5e-3))
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.feedForward(4))
                    .addLayer("a", Networks.dense(24, Activation.TANH), "in")
                    .addLayer("b", Networks.dense(16, Activation.TANH), "a")
                    .addLayer("c", Networks.dense(6, Activation.IDENTITY), "b")
                    .setOutputs("c")
                    .build());
        }

        private static INDArray noise(int iteration) {
            Nd4j.getRandom().setSeed(100 + iteration);
            return Nd4j.randn(DataType.FLOAT, BATCH, 4);
        }

        private static INDArray real(int iteration) {
            Nd4j.getRandom().setSeed(1000 + iteration);
            return Nd4j.randn(DataType.FLOAT, BATCH, 6).muli(0.3).addi(1.5);
        }

        void iterate(int iteration) {
            INDArray made = Kind.output(generator, noise(iteration));
            INDArray features = Nd4j.vstack(real(iteration), made);
            INDArray labels = Nd4j.vstack(Nd4j.ones(DataType.FLOAT, BATCH, 1), Nd4j.zeros(DataType.FLOAT, BATCH, 1));
            Kind.fit(discriminator, new DataSet(features, labels));
            trainGenerator(iteration, 1);
        }

        /** The discriminator's gradient of what was made, times something, goes into the generator. */
        void trainGenerator(int iteration, double factor) {
            Gradient gradient = generator instanceof MultiLayerNetwork layers
                    ? gradientOf(layers, noise(iteration), factor)
                    : gradientOf((ComputationGraph) generator, noise(iteration), factor);
            update(gradient, iteration);
            generator.params().subi(gradient.gradient());
        }

        private void update(Gradient gradient, int iteration) {
            LayerWorkspaceMgr none = LayerWorkspaceMgr.noWorkspaces();
            if (generator instanceof MultiLayerNetwork layers) {
                Updater updater = layers.getUpdater();
                updater.update(layers, gradient, iteration, 0, BATCH, none);
            } else {
                ComputationGraphUpdater updater = ((ComputationGraph) generator).getUpdater();
                updater.update(gradient, iteration, 0, BATCH, none);
            }
        }

        private Gradient gradientOf(MultiLayerNetwork layers, INDArray noise, double factor) {
            layers.setInput(noise);
            List<INDArray> activations = layers.feedForward(true, false);
            errors = errors(activations.get(activations.size() - 1)).muli(factor);
            return layers.backpropGradient(errors, LayerWorkspaceMgr.noWorkspaces())
                    .getFirst();
        }

        private Gradient gradientOf(ComputationGraph graph, INDArray noise, double factor) {
            INDArray made =
                    graph.feedForward(new INDArray[] {noise}, true, false).get("c");
            errors = errors(made).muli(factor);
            return graph.backpropGradient(errors);
        }

        /**
         * Returns the gradient of the generator's loss with respect to its output, which the discriminator takes for
         * real.
         */
        private INDArray errors(INDArray made) {
            INDArray wanted = Nd4j.ones(DataType.FLOAT, BATCH, 1);
            INDArray features = made.castTo(DataType.FLOAT);
            if (discriminator instanceof MultiLayerNetwork layers) {
                Pair<Gradient, INDArray> gradients = layers.calculateGradients(features, wanted, null, null);
                return gradients.getSecond().dup();
            }
            return ofGraph((ComputationGraph) discriminator, features, wanted);
        }

        /**
         * In a graph DL4J gives the gradient of an input only to a layer in front of it; by hand it's that of its
         * MultiLayerNetwork.
         */
        private static INDArray ofGraph(ComputationGraph graph, INDArray features, INDArray wanted) {
            MultiLayerNetwork same = Networks.init(discriminator());
            same.setParams(graph.params());
            MixedPrecision.of(graph).ifPresent(amp -> MixedPrecision.enable(same, amp.config()));
            return same.calculateGradients(features, wanted, null, null)
                    .getSecond()
                    .dup();
        }
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void aGanLearnsAsInFp32(Kind kind, Side side) {
        Gan stock = new Gan(kind);
        Gan gan = new Gan(kind);
        INDArray generatorBefore = stock.generator.params().dup();
        INDArray discriminatorBefore = stock.discriminator.params().dup();
        MixedPrecision ofGenerator = side.enable(gan.generator);
        MixedPrecision ofDiscriminator = side.enable(gan.discriminator);
        for (int i = 0; i < 5; i++) {
            stock.iterate(i);
            gan.iterate(i);
            side.assertClose(stock.errors, gan.errors, "the gradient from one network to the other");
        }
        assertEquals(5, ofDiscriminator.stepsTaken());
        assertEquals(0, ofGenerator.stepsTaken(), "calls by hand aren't steps");
        side.assertLearnedAlike(discriminatorBefore, stock.discriminator, gan.discriminator);
        // Adam's first steps have the sign of each gradient, however small it is.
        INDArray learned = stock.generator.params().sub(generatorBefore);
        INDArray actual = gan.generator.params().sub(generatorBefore);
        double error = learned.sub(actual).norm2Number().doubleValue();
        assertTrue(error
                < (side.precision() == Precision.FLOAT ? 0.01 : 0.3)
                        * learned.norm2Number().doubleValue());
    }

    /** 1e30 overflows in HALF, and 1e38 times the weights in FP32, in stock DL4J as well. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void whatOverflowsBetweenTheNetworksIsSeenAndTheReceiverLeftAsItWas(Kind kind, Side side) {
        Gan gan = new Gan(kind);
        side.enable(gan.discriminator);
        side.enable(gan.generator);
        gan.iterate(0);
        INDArray parameters = gan.generator.params().dup();
        INDArray state = Sides.updaterState(gan.generator).dup();
        gan.trainGenerator(1, Double.POSITIVE_INFINITY);
        assertEquals(parameters, gan.generator.params());
        assertEquals(state, Sides.updaterState(gan.generator));
        gan.trainGenerator(2, 1);
        assertNotEquals(parameters, gan.generator.params());
        assertTrue(Double.isFinite(gan.generator.params().sumNumber().doubleValue()));
    }

    // --- one scale

    private static MixedPrecision enable(Model network, Side side, SharedLossScale shared) {
        return Sides.enable(network, config(side).sharedLossScale(shared).build());
    }

    /** Spoils a gradient of a network's second step. */
    private static void overflowOnce(Model network, MixedPrecision amp) {
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                if (amp.stepsTaken() == 1 && amp.stepsSkipped() == 0) {
                    (model instanceof MultiLayerNetwork layers
                                    ? layers.getGradientsViewArray()
                                    : ((ComputationGraph) model).getGradientsViewArray())
                            .putScalar(0, Double.POSITIVE_INFINITY);
                }
            }
        });
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void eachNetworkSkipsForItselfAndTheScaleIsLoweredOnceForBoth(Kind kind, Side side) {
        SharedLossScale shared = new SharedLossScale(
                DynamicLossScaler.builder().initialScale(1024).growthInterval(2).build());
        Model one = kind.network();
        Model another = of(Kind.MULTI_LAYER, Networks.mlp());
        MixedPrecision ofOne = enable(one, side, shared);
        MixedPrecision ofAnother = enable(another, side, shared);
        overflowOnce(one, ofOne);
        boolean scales = ofOne.plan().anyHalf();
        double[] expected = {1024, 512, 512, 1024};
        for (double scale : expected) {
            Kind.fit(one, Kind.data());
            assertEquals(ofOne.lossScale(), ofAnother.lossScale(), "the same within an iteration");
            Kind.fit(another, Kind.data());
            shared.update();
            assertEquals(scales ? scale : 1024, shared.scale());
            assertEquals(scales ? scale : 1, ofOne.lossScale());
        }
        assertEquals(List.of(3L, 1L), List.of(ofOne.stepsTaken(), ofOne.stepsSkipped()));
        assertEquals(List.of(4L, 0L), List.of(ofAnother.stepsTaken(), ofAnother.stepsSkipped()));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void aSecondStepWithoutAnUpdateIsRefusedBeforeItChangesAnything(Kind kind, Side side) {
        SharedLossScale shared = new SharedLossScale(DynamicLossScaler.builder().build());
        Model network = kind.network();
        MixedPrecision amp = enable(network, side, shared);
        Kind.fit(network, Kind.data());
        INDArray parameters = network.params().dup();
        INDArray state = Sides.updaterState(network).dup();
        LossScalerState scale = shared.scaler().state();
        AmpException thrown = assertThrows(AmpException.class, () -> Kind.fit(network, Kind.data()));
        assertTrue(thrown.getMessage().contains(network.getClass().getSimpleName()), thrown.getMessage());
        assertTrue(thrown.getMessage().contains("SharedLossScale.update()"), thrown.getMessage());
        assertEquals(parameters, network.params());
        assertEquals(state, Sides.updaterState(network));
        assertEquals(scale, shared.scaler().state());
        assertEquals(1, amp.stepsTaken());

        shared.update();
        assertThrows(AmpException.class, shared::update);
        Kind.fit(network, Kind.data());
        Model undisturbed = kind.network();
        side.enable(undisturbed);
        Kind.fit(undisturbed, Kind.data());
        Kind.fit(undisturbed, Kind.data());
        side.assertClose(undisturbed.params(), network.params(), "parameters");
    }

    /** Whatever is skipped for another reason, or isn't scaled, is a step of the iteration nevertheless. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void badDataAndPausesAreStepsThatSayNothingOfTheScale(Kind kind, Side side) {
        SharedLossScale shared = new SharedLossScale(
                DynamicLossScaler.builder().growthInterval(3).build());
        Model network = kind.network();
        MixedPrecision amp = enable(network, side, shared);
        LossScalerState before = shared.scaler().state();
        DataSet bad = Kind.data();
        bad.getFeatures().putScalar(0, 0, Double.NaN);
        Kind.fit(network, bad);
        shared.update();
        try (Pause fp32 = amp.pause()) {
            Kind.fit(network, Kind.data());
        }
        shared.update();
        assertEquals(before, shared.scaler().state());
        assertEquals(List.of(1L, 1L), List.of(amp.stepsTaken(), amp.stepsSkipped()));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void withAccumulationAnIterationIsThatOfAGroup(Kind kind, Side side) {
        SharedLossScale shared = new SharedLossScale(DynamicLossScaler.builder().build());
        Model network = kind.network();
        Sides.enable(network, config(side).sharedLossScale(shared).accumulate(2).build());
        Kind.fit(network, Kind.data());
        assertThrows(AmpException.class, shared::update);
        Kind.fit(network, Kind.data());
        shared.update();
        Kind.fit(network, Kind.data());
        MixedPrecision amp = MixedPrecision.of(network).orElseThrow();
        assertTrue(amp.applyPartialGroup());
        assertEquals(2, amp.stepsTaken());
        shared.update();
        assertFalse(amp.applyPartialGroup());
    }
}
