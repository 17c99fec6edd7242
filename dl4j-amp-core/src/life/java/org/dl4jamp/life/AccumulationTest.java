package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.MapSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

/** Several calls of {@code fit} make one step, compared with one call of a batch of all their examples. */
class AccumulationTest {
    private static final Side PLAIN = new Side(Precision.FLOAT, "dl4j", 1e-4);

    /** A way of training. */
    record Way(String name, Consumer<NeuralNetConfiguration.Builder> settings, boolean clips) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Way way(String name, Consumer<NeuralNetConfiguration.Builder> settings) {
        return new Way(name, settings, false);
    }

    private static Stream<Way> ways() {
        List<Way> ways = new ArrayList<>(List.of(
                way("Sgd", conf -> conf.updater(new Sgd(0.1))),
                way("Nesterovs", conf -> conf.updater(new Nesterovs(0.05, 0.9))),
                way("Adam", conf -> conf.updater(new Adam(1e-3, 0.9, 0.999, 1e-3))),
                way("RmsProp", conf -> conf.updater(new RmsProp(1e-2, 0.95, 1e-2))),
                way("AdaGrad", conf -> conf.updater(new AdaGrad(0.05, 1e-2))),
                way(
                        "L1 and L2",
                        conf -> conf.updater(new Nesterovs(0.05, 0.9)).l1(0.02).l2(0.1)),
                way("weight decay", conf -> conf.updater(new Adam(1e-3, 0.9, 0.999, 1e-3))
                        .weightDecay(0.2)),
                way("sums", conf -> conf.updater(new Sgd(1e-3)).miniBatch(false)),
                way(
                        "schedule",
                        conf -> conf.updater(
                                new Sgd(new MapSchedule(ScheduleType.ITERATION, Map.of(0, 0.1, 1, 0.03, 2, 0.2))))),
                new Way("clipped norm", conf -> conf.updater(new Nesterovs(0.05, 0.9)), true)));
        for (GradientNormalization normalization : GradientNormalization.values()) {
            ways.add(way(normalization.toString(), conf -> conf.updater(new Sgd(0.05))
                    .gradientNormalization(normalization)
                    .gradientNormalizationThreshold(0.01)));
        }
        return ways.stream();
    }

    private static Stream<Arguments> waysEverywhere() {
        return Kind.all().flatMap(kind -> Stream.concat(Stream.of(PLAIN), Side.here())
                .flatMap(side -> ways().map(way -> Arguments.of(kind, side, way))));
    }

    static Model network(Kind kind, Consumer<NeuralNetConfiguration.Builder> settings) {
        NeuralNetConfiguration.Builder builder = Networks.builder(new Sgd(0.1));
        settings.accept(builder);
        MultiLayerNetwork network = Networks.init(builder.list()
                .layer(Networks.dense(24, Activation.TANH))
                .layer(Networks.dense(16, Activation.RELU))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        return kind == Kind.GRAPH ? network.toComputationGraph() : network;
    }

    static AmpConfig.Builder config(Side side) {
        return AmpConfig.builder().precision(side.precision()).engine(side.engine());
    }

    static DataSet examples(DataSet all, int from, int to) {
        return (DataSet) all.getRange(from, to);
    }

    @ParameterizedTest
    @MethodSource("waysEverywhere")
    void fourMicroBatchesMakeTheStepOfOneBatch(Kind kind, Side side, Way way) {
        AmpConfig.Builder whole = config(side);
        AmpConfig.Builder parts = config(side).accumulate(4);
        if (way.clips()) {
            whole.clipGradientNorm(0.05);
            parts.clipGradientNorm(0.05);
        }
        Model one = network(kind, way.settings());
        Model four = network(kind, way.settings());
        Model stock = network(kind, way.settings());
        INDArray before = one.params().dup();
        Sides.enable(one, whole.build());
        MixedPrecision amp = Sides.enable(four, parts.build());
        DataSet all = Networks.vectors(96, 20, 3);
        for (int step = 0; step < 3; step++) {
            Kind.fit(one, examples(all, 32 * step, 32 * step + 32));
            Kind.fit(stock, examples(all, 32 * step, 32 * step + 32));
            for (int i = 0; i < 4; i++) {
                Kind.fit(four, examples(all, 32 * step + 8 * i, 32 * step + 8 * i + 8));
            }
            assertEquals(step + 1, amp.stepsTaken());
        }
        side.assertLearnedAlike(before, one, four);
        if (side.equals(PLAIN) && !way.clips()) {
            side.assertLearnedAlike(before, stock, four);
        }
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void examplesCountAlikeInMicroBatchesOfAnySize(Kind kind, Side side) {
        for (WorkspaceMode mode : WorkspaceMode.values()) {
            Consumer<NeuralNetConfiguration.Builder> settings = conf ->
                    conf.updater(new Sgd(0.5)).trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode);
            Model one = network(kind, settings);
            Model three = network(kind, settings);
            INDArray before = one.params().dup();
            Sides.enable(three, config(side).accumulate(3).build());
            DataSet all = Networks.vectors(32, 20, 3);
            Kind.fit(one, all);
            Kind.fit(three, examples(all, 0, 3));
            Kind.fit(three, examples(all, 3, 14));
            assertEquals(before, three.params(), "nothing moves before the group is complete");
            Kind.fit(three, examples(all, 14, 32));
            side.assertLearnedAlike(before, one, three);
        }
    }

    private static Stream<Arguments> everywhere() {
        return Kind.everywhere();
    }

    /** With a learning rate of zero nothing else moves in stock DL4J, either. */
    @ParameterizedTest
    @MethodSource("sides")
    void runningStatisticsMoveWithEveryMicroBatchAndWeightsWithTheLast(Side side) {
        MultiLayerNetwork stock = Networks.init(Networks.cnn());
        MultiLayerNetwork network = Networks.init(Networks.cnn());
        INDArray weights = network.getParam("0_W").dup();
        stock.setLearningRate(0);
        Sides.enable(network, config(side).accumulate(3).build());
        for (int i = 0; i < 3; i++) {
            DataSet data = Networks.images(8, 3, 12, 3);
            data.getFeatures().muli(i + 1).addi(i);
            stock.fit(data);
            network.fit(data);
            if (i < 2) {
                for (String name : List.of("1_mean", "1_log10stdev", "5_mean", "5_var")) {
                    side.assertClose(stock.getParam(name), network.getParam(name), name + " of micro-batch " + i);
                }
                assertEquals(weights, network.getParam("0_W"));
            }
        }
        assertNotEquals(weights, network.getParam("0_W"));
    }

    private static Stream<Side> sides() {
        return Side.here();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void oneMicroBatchThatOverflowsSkipsItsGroupAndHalvesTheScaleOnceAtItsEnd(Kind kind) {
        Model network = network(kind, conf -> conf.updater(new Adam(1e-2)));
        MixedPrecision amp = Sides.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .scaleSearch(0)
                        .lossScaler(DynamicLossScaler.builder()
                                .initialScale(1024)
                                .growthInterval(2)
                                .build())
                        .accumulate(3)
                        .build());
        DataSet data = Networks.vectors(8, 20, 3);
        fit(network, data, 3);
        INDArray parameters = network.params().dup();
        INDArray state = Sides.updaterState(network).dup();
        network.addListeners(new BaseTrainingListener() {
            private int passes;

            @Override
            public void onGradientCalculation(Model model) {
                if (passes++ == 1) {
                    model.gradient().gradient().putScalar(5, Float.POSITIVE_INFINITY);
                }
            }
        });
        fit(network, data, 2);
        assertEquals(0, amp.stepsSkipped(), "before the group ends");
        assertEquals(1024, amp.lossScale(), "before the group ends");
        fit(network, data, 1);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(1, amp.stepsTaken());
        assertEquals(512, amp.lossScale());
        assertEquals(parameters, network.params());
        assertEquals(state, Sides.updaterState(network));
        fit(network, data, 6);
        assertEquals(3, amp.stepsTaken());
        assertEquals(1024, amp.lossScale(), "it grows after two groups");
        assertTrue(amp.gradientNorm().isPresent());
    }

    private static void fit(Model network, DataSet data, int times) {
        for (int i = 0; i < times; i++) {
            Kind.fit(network, data);
        }
    }

    /** A NaN in the data isn't the scale's fault; the score shows it at once. */
    @Test
    void aBadMicroBatchSkipsItsGroupAndLeavesTheScale() {
        Model network = network(Kind.MULTI_LAYER, conf -> {});
        MixedPrecision amp = Sides.enable(network, config(PLAIN).accumulate(2).build());
        DataSet data = Networks.vectors(8, 20, 3);
        DataSet bad = data.copy();
        bad.getFeatures().putScalar(3, Float.NaN);
        INDArray before = network.params().dup();
        Kind.fit(network, bad);
        assertTrue(Double.isNaN(network.score()));
        Kind.fit(network, data);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(before, network.params());
        fit(network, data, 2);
        assertEquals(1, amp.stepsTaken());
        assertNotEquals(before, network.params());
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void gradientsThatAProgramAsksForInBetweenAreNoPartOfAGroup(Kind kind, Side side) {
        Model plain = network(kind, conf -> {});
        Model asked = network(kind, conf -> {});
        Sides.enable(plain, config(side).accumulate(2).build());
        Sides.enable(asked, config(side).accumulate(2).build());
        DataSet data = Networks.vectors(16, 20, 3);
        for (int i = 0; i < 2; i++) {
            Kind.fit(plain, data);
            Kind.fit(asked, data);
            asked.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        }
        assertEquals(plain.params(), asked.params());
    }

    @Test
    void listenersHearOfEachMicroBatchAsAnIteration() {
        MultiLayerNetwork network = (MultiLayerNetwork) network(Kind.MULTI_LAYER, conf -> {});
        List<Integer> iterations = new ArrayList<>();
        List<Double> updates = new ArrayList<>();
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                iterations.add(iteration);
                updates.add(model.gradient().gradient().norm2Number().doubleValue());
            }
        });
        MixedPrecision amp = Sides.enable(network, config(PLAIN).accumulate(3).build());
        fit(network, Networks.vectors(8, 20, 3), 6);
        assertEquals(List.of(0, 1, 2, 3, 4, 5), iterations);
        assertEquals(List.of(0.0, 0.0), updates.subList(0, 2), "updates before the step");
        assertTrue(updates.get(2) > 0, "updates of the step");
        assertEquals(2, amp.stepsTaken());
        assertEquals(6, network.getIterationCount());
    }

    /** From the same weights, each micro-batch's gradient with its own penalty. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void penalizedGradientsOfMicroBatchesAreAddedUp(Kind kind, Side side) {
        GradientPenalty penalty = GradientPenalty.of(0.05, 0.05);
        DataSet all = Networks.vectors(16, 20, 3);
        Model network = network(kind, conf -> conf.updater(new Sgd(1)));
        INDArray before = network.params().dup();
        INDArray expected = Nd4j.zerosLike(before);
        for (int i = 0; i < 2; i++) {
            Model alone = network(kind, conf -> conf.updater(new Sgd(1)));
            Sides.enable(alone, config(side).gradientPenalty(penalty).build());
            Kind.fit(alone, examples(all, 8 * i, 8 * i + 8));
            expected.addi(alone.params().sub(before).muli(0.5));
        }
        Sides.enable(
                network, config(side).gradientPenalty(penalty).accumulate(2).build());
        Kind.fit(network, examples(all, 0, 8));
        Kind.fit(network, examples(all, 8, 16));
        new Side(side.precision(), side.engine(), 1e-4)
                .assertClose(expected, network.params().sub(before), "the step");
    }

    @ParameterizedTest
    @MethodSource("sides")
    void eachSegmentOfTruncatedBackpropagationIsAMicroBatch(Side side) {
        MultiLayerNetwork stock = Networks.init(lstm());
        MultiLayerNetwork network = Networks.init(lstm());
        INDArray before = network.params().dup();
        INDArray sum = Nd4j.zerosLike(before);
        stock.setLearningRate(0);
        stock.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                sum.addi(model.gradient().gradient().reshape(sum.shape()));
            }
        });
        DataSet data = Networks.sequences(8, 5, 3, 20);
        stock.fit(data);
        MixedPrecision amp = Sides.enable(network, config(side).accumulate(4).build());
        network.fit(data);
        assertEquals(1, amp.stepsTaken());
        side.assertClose(sum.divi(4 * 8), before.sub(network.params()), "the mean of four segments' gradients");
    }

    private static MultiLayerConfiguration lstm() {
        return Networks.builder(new Sgd(1))
                .list()
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(5))
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(5)
                .build();
    }
}
