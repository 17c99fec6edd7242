package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;

/** A group of micro-batches moves nothing if any of them isn't finite, and leaves nothing to the next group. */
class FailedMicroBatchTest {
    private static final int EXAMPLES = 2;

    /** All of DL4J's but AdaBelief, which throws in stock DL4J. */
    private static final List<IUpdater> UPDATERS = List.of(
            new Sgd(0.1),
            new NoOp(),
            new Nesterovs(0.05, 0.9),
            new Adam(1e-3, 0.9, 0.999, 1e-3),
            new AdaMax(1e-3, 0.9, 0.999, 1e-3),
            new AMSGrad(1e-3, 0.9, 0.999, 1e-3),
            new Nadam(1e-3, 0.9, 0.999, 1e-3),
            new RmsProp(1e-2, 0.95, 1e-2),
            new AdaGrad(0.05, 1e-2),
            new AdaDelta(0.95, 1e-2));

    /** No state, state and a pass of the oneDNN engine, state and no such pass. */
    private static final Set<Class<?>> ONE_OF_EACH_KIND = Set.of(Sgd.class, Adam.class, RmsProp.class);

    private static Stream<Arguments> withOneOfEachKind() {
        return everywhere(updater -> ONE_OF_EACH_KIND.contains(updater.getClass()));
    }

    private static Stream<Arguments> withTheOthers() {
        return everywhere(updater -> !ONE_OF_EACH_KIND.contains(updater.getClass()));
    }

    private static Stream<Arguments> everywhere(Predicate<IUpdater> wanted) {
        Stream<Side> portable = Stream.of("dl4j", "nd4j").map(engine -> new Side(Precision.FLOAT, engine, 1e-4));
        return Stream.concat(portable, Side.here())
                .flatMap(side -> UPDATERS.stream().filter(wanted).map(updater -> Arguments.of(side, updater)));
    }

    private static Model network(Kind kind, IUpdater updater) {
        return AccumulationTest.network(kind, conf -> conf.updater(updater.clone()));
    }

    /** All that a step changes: parameters, then the updater's state, if it has one. */
    private static float[] learned(Model network) {
        INDArray parameters = network.params().reshape(network.params().length());
        INDArray state = Sides.updaterState(network);
        return (state == null ? parameters : Nd4j.concat(0, parameters, state.reshape(state.length()))).toFloatVector();
    }

    private static DataSet spoiled(DataSet data) {
        DataSet bad = data.copy();
        bad.getFeatures().putScalar(3, Float.NaN);
        return bad;
    }

    @ParameterizedTest
    @MethodSource("withOneOfEachKind")
    void whereverItFailsNothingMovesAndTheNextGroupIsAsIfNothingHadBeen(Side side, IUpdater updater) {
        assertNothingMovesWhereverItFails(side, updater);
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("withTheOthers")
    void whereverItFailsNothingMovesWithAllOtherUpdatersEither(Side side, IUpdater updater) {
        assertNothingMovesWhereverItFails(side, updater);
    }

    /**
     * Every set of failures in groups of 2 to 4, and each single one in groups of 5 and 6, which is followed by a group
     * without.
     */
    private static void assertNothingMovesWhereverItFails(Side side, IUpdater updater) {
        for (int size = 2; size <= 6; size++) {
            Kind kind = size % 2 == 0 ? Kind.MULTI_LAYER : Kind.GRAPH;
            Model whole = network(kind, updater);
            Model parts = network(kind, updater);
            if (side.precision() != Precision.FLOAT) {
                Sides.enable(whole, AccumulationTest.config(side).build());
            }
            MixedPrecision amp = Sides.enable(
                    parts, AccumulationTest.config(side).accumulate(size).build());
            DataSet data = Networks.vectors(EXAMPLES * size, 20, 3);
            INDArray before = parts.params().dup();
            int groups = 0;
            for (int failed = 1; failed < 1 << size; failed++) {
                if (size > 4 && Integer.bitCount(failed) > 1) {
                    continue;
                }
                groups++;
                float[] learned = learned(parts);
                for (int i = 0; i < size; i++) {
                    DataSet micro = AccumulationTest.examples(data, EXAMPLES * i, EXAMPLES * (i + 1));
                    Kind.fit(parts, (failed >> i & 1) == 1 ? spoiled(micro) : micro);
                    String where = "after micro-batch " + i + " of " + size + " with failures "
                            + Integer.toBinaryString(failed) + " from the last to the first";
                    assertArrayEquals(learned, learned(parts), where);
                }
                assertEquals(groups, amp.stepsSkipped());
                if (Integer.bitCount(failed) == 1) {
                    Kind.fit(whole, data);
                    for (int i = 0; i < size; i++) {
                        Kind.fit(parts, AccumulationTest.examples(data, EXAMPLES * i, EXAMPLES * (i + 1)));
                    }
                    side.assertLearnedAlike(before, whole, parts);
                }
            }
            assertEquals(size, amp.stepsTaken());
        }
    }

    /** Records which micro-batches of a group overflowed. */
    private static final class Overflows extends BaseTrainingListener {
        private final List<Boolean> ofGroup = new ArrayList<>();

        @Override
        public void onGradientCalculation(Model model) {
            double norm = model.gradient().gradient().norm2Number().doubleValue();
            ofGroup.add(!Double.isFinite(norm));
        }

        /** Returns whether one that was finite, and not the last, came after one that wasn't. */
        boolean isFollowed() {
            int first = ofGroup.indexOf(true);
            return first >= 0 && ofGroup.subList(first, ofGroup.size() - 1).contains(false);
        }
    }

    /** Nothing is spoiled: the scale is too high for some of the micro-batches. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void aRealOverflowInHalfMovesNothing(Kind kind) {
        int size = 4;
        int followed = 0;
        for (IUpdater updater : UPDATERS) {
            Model network = network(kind, updater);
            MixedPrecision amp = Sides.enable(
                    network,
                    AmpConfig.builder()
                            .precision(Precision.HALF)
                            .engine("nd4j")
                            .scaleSearch(0)
                            .lossScaler(DynamicLossScaler.builder()
                                    .initialScale(1 << 24)
                                    .growthInterval(1)
                                    .growthFactor(4)
                                    .build())
                            .accumulate(size)
                            .build());
            Overflows overflows = new Overflows();
            network.addListeners(overflows);
            for (int group = 0; group < 12; group++) {
                float[] learned = learned(network);
                long taken = amp.stepsTaken();
                overflows.ofGroup.clear();
                for (int i = 0; i < size; i++) {
                    DataSet data = Networks.vectors(8, 20, 3);
                    data.getFeatures().muli(i % 2 == 0 ? 4 : 0.01);
                    if (i % 2 == 1) {
                        // No error, so no gradient to count.
                        data.setLabels(Kind.output(network, data.getFeatures()));
                    }
                    Kind.fit(network, data);
                    if (amp.stepsTaken() == taken) {
                        assertArrayEquals(learned, learned(network), updater + ", group " + group + ", " + i);
                    }
                }
                if (amp.stepsTaken() == taken && overflows.isFollowed()) {
                    followed++;
                }
            }
            assertTrue(amp.stepsTaken() > 0, () -> updater + " learned nothing");
            assertTrue(amp.stepsSkipped() > 0, () -> updater + " never overflowed");
        }
        assertTrue(followed >= UPDATERS.size(), followed + " groups in which a finite one followed an overflow");
    }

    private static Stream<Side> sides() {
        return Side.here();
    }

    /** With a learning rate of zero nothing else moves in stock DL4J, either. */
    @ParameterizedTest
    @MethodSource("sides")
    void runningStatisticsMoveWithEachMicroBatchThatIsFinite(Side side) {
        for (int failed = 1; failed < 1 << 3; failed++) {
            MultiLayerNetwork stock = Networks.init(Networks.cnn());
            MultiLayerNetwork network = Networks.init(Networks.cnn());
            INDArray weights = network.getParam("0_W").dup();
            INDArray mean = network.getParam("1_mean").dup();
            stock.setLearningRate(0);
            Sides.enable(network, AccumulationTest.config(side).accumulate(3).build());
            for (int i = 0; i < 3; i++) {
                DataSet data = Networks.images(8, 3, 12, 3);
                data.getFeatures().muli(i + 1).addi(i);
                boolean fails = (failed >> i & 1) == 1;
                if (!fails) {
                    stock.fit(data);
                }
                network.fit(fails ? spoiled(data) : data);
                for (String name : List.of("1_mean", "1_log10stdev", "5_mean", "5_var")) {
                    side.assertClose(stock.getParam(name), network.getParam(name), name + " of micro-batch " + i);
                }
                assertArrayEquals(
                        weights.ravel().toFloatVector(),
                        network.getParam("0_W").ravel().toFloatVector());
            }
            if (failed < 7) {
                assertNotEquals(mean, network.getParam("1_mean"));
            }
        }
    }
}
