package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

/**
 * Mixed precision that begins or ends while DL4J goes through a network's listeners: each is called once for each
 * event, in their order.
 */
class EpochEndTest {
    private static final int BATCHES = 3;

    /** The moment in DL4J at which something happens. */
    private enum When {
        EPOCH_STARTS,
        EPOCH_ENDS,
        ITERATION_IS_DONE
    }

    /** Writes down what it's called for. */
    private static final class Recorder extends BaseTrainingListener {
        private final int number;
        private final List<String> calls;
        private final BiConsumer<When, Model> work;

        Recorder(int number, List<String> calls) {
            this(number, calls, (when, model) -> {});
        }

        /**
         * @param number its own
         * @param calls where it writes
         * @param work what it does when it's called
         */
        Recorder(int number, List<String> calls, BiConsumer<When, Model> work) {
            this.number = number;
            this.calls = calls;
            this.work = work;
        }

        private void call(When when, Model model) {
            calls.add(when + " " + number);
            work.accept(when, model);
        }

        @Override
        public void onEpochStart(Model model) {
            call(When.EPOCH_STARTS, model);
        }

        @Override
        public void onEpochEnd(Model model) {
            call(When.EPOCH_ENDS, model);
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            call(When.ITERATION_IS_DONE, model);
        }
    }

    private static AmpConfig config() {
        return AmpConfig.builder()
                .precision(Precision.FLOAT)
                .engine("dl4j")
                .accumulate(2)
                .build();
    }

    private static DataSetIterator iterator() {
        return new ExistingDataSetIterator(Kind.data().batchBy(48 / BATCHES));
    }

    private static Collection<TrainingListener> listeners(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getListeners()
                : ((ComputationGraph) network).getListeners();
    }

    /** The calls of one epoch of several listeners. */
    private static List<String> calls(int listeners, int iterations) {
        List<String> calls = new ArrayList<>();
        add(calls, When.EPOCH_STARTS, listeners);
        for (int i = 0; i < iterations; i++) {
            add(calls, When.ITERATION_IS_DONE, listeners);
        }
        add(calls, When.EPOCH_ENDS, listeners);
        return calls;
    }

    private static void add(List<String> calls, When when, int listeners) {
        for (int i = 0; i < listeners; i++) {
            calls.add(when + " " + i);
        }
    }

    private static BiConsumer<When, Model> once(When when, Runnable work) {
        boolean[] done = new boolean[1];
        return (now, model) -> {
            if (now == when && !done[0]) {
                done[0] = true;
                work.run();
            }
        };
    }

    private static Stream<Arguments> oneOfOneToFour() {
        return Kind.all().flatMap(kind -> Stream.of(When.values()).flatMap(when -> Stream.of(1, 2, 3, 4)
                .flatMap(listeners -> Stream.iterate(0, i -> i < listeners, i -> i + 1)
                        .map(one -> Arguments.of(kind, when, listeners, one)))));
    }

    /** Two epochs, in the first of which a listener does something. */
    private static void assertEachIsCalledOnce(
            Model network, int listeners, int one, When when, Runnable work, boolean afterAFit) {
        List<String> calls = new ArrayList<>();
        List<TrainingListener> all = new ArrayList<>();
        for (int i = 0; i < listeners; i++) {
            all.add(i == one ? new Recorder(i, calls, once(when, work)) : new Recorder(i, calls));
        }
        if (afterAFit) {
            // The optimizer has the network's own list from then on.
            Kind.fit(network, Kind.data());
            network.addListeners(all.toArray(TrainingListener[]::new));
        } else {
            network.setListeners(all.toArray(TrainingListener[]::new));
        }
        Kind.fit(network, iterator(), 2);
        List<String> expected = calls(listeners, BATCHES);
        expected.addAll(calls(listeners, BATCHES));
        assertEquals(expected, calls);
        // Whoever adds to DL4J's list is called from then on, if the optimizer has that list.
        calls.clear();
        if (afterAFit) {
            listeners(network).add(new Recorder(listeners, calls));
            Kind.fit(network, iterator(), 1);
            assertEquals(calls(listeners + 1, BATCHES), calls);
        }
    }

    @ParameterizedTest
    @MethodSource("oneOfOneToFour")
    void whoeverClosesItTheOthersAreCalled(Kind kind, When when, int listeners, int one) {
        for (boolean afterAFit : new boolean[] {false, true}) {
            Model network = kind.network();
            MixedPrecision amp = Sides.enable(network, config());
            assertEachIsCalledOnce(network, listeners, one, when, amp::close, afterAFit);
            assertFalse(Side.isEnabled(network));
            assertTrue(listeners(network).stream().allMatch(Recorder.class::isInstance));
        }
    }

    @ParameterizedTest
    @MethodSource("oneOfOneToFour")
    void whoeverEnablesItTheOthersAreCalledAndTheEndOfAnEpochMakesAStep(Kind kind, When when, int listeners, int one) {
        for (boolean afterAFit : new boolean[] {false, true}) {
            Model network = kind.network();
            assertEachIsCalledOnce(network, listeners, one, when, () -> Sides.enable(network, config()), afterAFit);
            long epochs = afterAFit ? 3 : 2;
            long steps =
                    switch (when) {
                        // Two steps of three batches.
                        case EPOCH_STARTS -> 2 * epochs;
                        case ITERATION_IS_DONE -> 2 * epochs - 1;
                        case EPOCH_ENDS -> 2 * epochs - 2;
                    };
            assertEquals(steps, MixedPrecision.of(network).orElseThrow().stepsTaken());
        }
    }

    /** Micro-batches that wait at close make no step at the epoch's end. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void whatIsClosedMakesNoStep(Kind kind) {
        Model network = kind.network();
        MixedPrecision amp = Sides.enable(network, config());
        INDArray[] parameters = new INDArray[1];
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onEpochEnd(Model model) {
                amp.close();
                parameters[0] = model.params().dup();
            }
        });
        // DL4J calls first what stands first: here it's the listener that closes.
        List<TrainingListener> turned = new ArrayList<>(listeners(network));
        Kind.fit(network, Kind.data());
        listeners(network).stream()
                .filter(listener -> !turned.contains(listener))
                .forEach(turned::add);
        network.setListeners(turned.toArray(TrainingListener[]::new));
        for (TrainingListener listener : turned) {
            listener.onEpochEnd(network);
        }
        assertEquals(2, turned.size());
        assertEquals(parameters[0], network.params());
    }

    /**
     * The second pass of the penalty, within a call of a listener, keeps the others from hearing of it, and from
     * nothing else.
     */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void aStepWithinAListenersCallLeavesTheOthersAlone(Kind kind) {
        Model network = kind.network();
        Sides.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.FLOAT)
                        .engine("dl4j")
                        .gradientPenalty(GradientPenalty.of(0.05, 0.05))
                        .build());
        List<String> calls = new ArrayList<>();
        network.setListeners(
                new Recorder(0, calls, (when, model) -> {
                    if (when == When.EPOCH_ENDS) {
                        Kind.fit(model, Kind.data());
                    }
                }),
                new Recorder(1, calls));
        Kind.fit(network, iterator(), 1);
        List<String> expected = calls(2, BATCHES);
        expected.remove(expected.size() - 1);
        add(expected, When.ITERATION_IS_DONE, 2);
        expected.add(When.EPOCH_ENDS + " 1");
        assertEquals(expected, calls);
    }
}
