package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.SequenceNetwork.MIDDLE;
import static org.dl4jamp.onednn.SequenceNetwork.batch;
import static org.dl4jamp.onednn.SequenceNetwork.updaterState;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Sgd;

/** Layers of attention and of LSTMs with peepholes with everything that a training does besides steps. */
class SequenceTrainingTest {
    private static final int EXAMPLES = 6;

    /** Makes the gradient behind its layer infinite, while it's told so. */
    public static final class Overflow implements IDropout {
        private static final long serialVersionUID = 1L;

        private static boolean overflows;

        @Override
        public INDArray applyDropout(
                INDArray input, INDArray result, int iteration, int epoch, LayerWorkspaceMgr workspaceMgr) {
            return input == result ? input : result.assign(input);
        }

        @Override
        public INDArray backprop(INDArray above, INDArray below, int iteration, int epoch) {
            return overflows ? below.assign(Double.POSITIVE_INFINITY) : below == above ? below : below.assign(above);
        }

        @Override
        public void clear() {
            // It keeps nothing.
        }

        @Override
        public IDropout clone() {
            return new Overflow();
        }
    }

    private static Stream<Arguments> all() {
        return Arrays.stream(SequenceNetwork.values())
                .flatMap(kind -> Types.precisions().stream().map(precision -> Arguments.of(kind, precision)));
    }

    private static Stream<Arguments> stock() {
        return all().filter(arguments -> ((SequenceNetwork) arguments.get()[0]).isInStock());
    }

    private static AmpConfig.Builder on(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision);
    }

    /** Adam makes steps of a learning rate of gradients that are near zero, whatever their sign. */
    private static double bound(Precision precision) {
        return precision == Precision.FLOAT ? 1e-5 : 1e-2;
    }

    private static void assertComputes(MixedPrecision amp, Precision precision) {
        assertEquals("onednn", amp.plan().row(MIDDLE).engine(), amp.plan()::toString);
        if (amp.plan().row(MIDDLE).className().startsWith("Frozen")) {
            return;
        }
        assertEquals(precision, amp.plan().row(MIDDLE).precision(), amp.plan()::toString);
    }

    /** Stock DL4J's attention vertex keeps a mask for the next batch without masks, which has to be as large. */
    private static void trainsAlike(Model stock, Model ours, Precision precision) {
        INDArray before = stock.params().dup();
        for (int step = 0; step < 4; step++) {
            Networks.fit(stock, batch(step, EXAMPLES, step % 2 == 1));
            Networks.fit(ours, batch(step, EXAMPLES, step % 2 == 1));
        }
        movesAlike(before, stock.params(), ours.params(), precision);
    }

    /** Compares what steps have changed. */
    private static void movesAlike(INDArray before, INDArray stock, INDArray ours, Precision precision) {
        assertTrue(stock.distance2(before) > 1e-3, "stock learns");
        Agreement.assertWithin("change", stock.sub(before), ours.sub(before), 4 * bound(precision));
    }

    @ParameterizedTest
    @MethodSource("stock")
    void frozenLayersStayAndTheOthersLearnAsInStock(SequenceNetwork kind, Precision precision) {
        if (kind.isGraph()) {
            return;
        }
        for (UnaryOperator<Layer> frozen :
                Arrays.<UnaryOperator<Layer>>asList(FrozenLayer::new, FrozenLayerWithBackprop::new)) {
            Model stock = kind.make(new Sgd(0.1), frozen, null);
            Model ours = kind.make(new Sgd(0.1), frozen, null);
            INDArray middle = ((MultiLayerNetwork) ours).getLayer(1).params();
            INDArray kept = middle == null ? null : middle.dup();
            try (MixedPrecision amp = MixedPrecision.enable(ours, on(precision).build())) {
                assertComputes(amp, precision);
                trainsAlike(stock, ours, precision);
            }
            assertEquals(kept, ((MultiLayerNetwork) ours).getLayer(1).params());
        }
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("stock")
    void transferredNetworksLearnAsInStock(SequenceNetwork kind, Precision precision) {
        Model source = kind.make(new Sgd(0.1));
        for (boolean freezesMiddle : new boolean[] {false, true}) {
            Model stock = transferred(source, freezesMiddle);
            Model ours = transferred(source, freezesMiddle);
            ours.setParams(stock.params());
            INDArray before = source.params().dup();
            try (MixedPrecision amp = MixedPrecision.enable(ours, on(precision).build())) {
                trainsAlike(stock, ours, precision);
            }
            assertEquals(before, source.params());
        }
    }

    private static Model transferred(Model source, boolean freezesMiddle) {
        return source instanceof ComputationGraph graph
                ? new TransferLearning.GraphBuilder(graph)
                        .setFeatureExtractor(freezesMiddle ? MIDDLE : "front")
                        .build()
                : new TransferLearning.Builder((MultiLayerNetwork) source)
                        .setFeatureExtractor(freezesMiddle ? 1 : 0)
                        .build();
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("stock")
    void inAPauseAndAfterItTrainingGoesOnAsInStock(SequenceNetwork kind, Precision precision) {
        Model stock = kind.make(new Sgd(0.1));
        Model ours = kind.make(new Sgd(0.1));
        try (MixedPrecision amp = MixedPrecision.enable(ours, on(precision).build())) {
            assertComputes(amp, precision);
            trainsAlike(stock, ours, precision);
            ours.setParams(stock.params());
            try (Pause pause = amp.pause()) {
                Networks.fit(stock, batch(9, EXAMPLES, true));
                Networks.fit(ours, batch(9, EXAMPLES, true));
                assertEquals(stock.params(), ours.params());
            }
            trainsAlike(stock, ours, precision);
        }
    }

    @ParameterizedTest
    @MethodSource("stock")
    void accumulatedMicroBatchesAreStocksStepOfTheWhole(SequenceNetwork kind, Precision precision) {
        Model stock = kind.make(new Sgd(0.1));
        Model ours = kind.make(new Sgd(0.1));
        INDArray before = stock.params().dup();
        try (MixedPrecision amp =
                MixedPrecision.enable(ours, on(precision).accumulate(3).build())) {
            for (int step = 0; step < 2; step++) {
                DataSet whole = batch(step, EXAMPLES, false);
                Networks.fit(stock, whole);
                for (int part = 0; part < 3; part++) {
                    Networks.fit(ours, whole.getRange(2 * part, 2 * part + 2).copy());
                }
                movesAlike(before, stock.params(), ours.params(), precision);
            }
            assertEquals(2, amp.stepsTaken());
        }
    }

    /** The network that never sees the skipped groups is the same one, with the same parameters and updater state. */
    @ParameterizedTest
    @MethodSource("all")
    void anOverflowInAnyMicroBatchLeavesParametersAndUpdaterStateBitForBit(SequenceNetwork kind, Precision precision) {
        Model other = kind.make(new Adam(1e-2), UnaryOperator.identity(), new Overflow());
        Model ours = kind.make(new Adam(1e-2), UnaryOperator.identity(), new Overflow());
        AmpConfig config = on(precision)
                .accumulate(3)
                .lossScaler(new StaticLossScaler(1024))
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(ours, config);
                MixedPrecision ofOther = MixedPrecision.enable(other, config)) {
            for (int overflowing = -1; overflowing < 3; overflowing++) {
                group(ours, -1);
                group(other, -1);
                INDArray params = ours.params().dup();
                INDArray state = updaterState(ours).dup();
                if (overflowing >= 0) {
                    group(ours, overflowing);
                }
                assertEquals(params, ours.params(), "position " + overflowing);
                assertEquals(state, updaterState(ours), "position " + overflowing);
                assertEquals(other.params(), ours.params());
                assertEquals(updaterState(other), updaterState(ours));
            }
            assertEquals(4, amp.stepsTaken());
            assertEquals(3, amp.stepsSkipped());
            assertEquals(4, ofOther.stepsTaken());
        }
    }

    private static void group(Model network, int overflowing) {
        for (int part = 0; part < 3; part++) {
            Overflow.overflows = part == overflowing;
            try {
                Networks.fit(network, batch(part, 2, true));
            } finally {
                Overflow.overflows = false;
            }
        }
    }

    /** Without momentum a step is the gradient times the learning rate. */
    @ParameterizedTest
    @MethodSource("stock")
    void aClippedStepIsStocksOneShortened(SequenceNetwork kind, Precision precision) {
        IUpdater updater = new Sgd(1);
        Model stock = kind.make(updater);
        Model ours = kind.make(updater);
        INDArray before = stock.params().dup();
        Networks.fit(stock, batch(3, EXAMPLES, true));
        INDArray step = stock.params().sub(before);
        double norm = step.norm2Number().doubleValue();
        double most = norm / 3;
        AmpConfig config = on(precision)
                .clipGradientNorm(most)
                .lossScaler(new StaticLossScaler(256))
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(ours, config)) {
            Networks.fit(ours, batch(3, EXAMPLES, true));
            assertEquals(norm, amp.gradientNorm().orElseThrow(), bound(precision) * norm);
        }
        movesAlike(before, before.add(step.mul(most / norm)), ours.params(), precision);
    }

    @ParameterizedTest
    @MethodSource("all")
    void aRestoredNetworkGoesOnBitForBit(SequenceNetwork kind, Precision precision) throws IOException {
        for (boolean withState : new boolean[] {false, true}) {
            Model whole = kind.make(new Adam(1e-2));
            ByteArrayOutputStream file = new ByteArrayOutputStream();
            AmpConfig config = on(precision).build();
            try (MixedPrecision amp = MixedPrecision.enable(whole, config)) {
                halfway(whole, 0);
                if (withState) {
                    AmpModelSerializer.writeModel(whole, file, true);
                } else {
                    ModelSerializer.writeModel(whole, file, true);
                }
                halfway(whole, 3);
                assertEquals(6, amp.stepsTaken());
            }
            Model restored = restored(new ByteArrayInputStream(file.toByteArray()), kind.isGraph(), withState);
            try (MixedPrecision amp =
                    withState ? MixedPrecision.of(restored).orElseThrow() : MixedPrecision.enable(restored, config)) {
                assertComputes(amp, precision);
                halfway(restored, 3);
                assertEquals(withState ? 6 : 3, amp.stepsTaken());
            }
            assertEquals(whole.params(), restored.params());
            assertEquals(updaterState(whole), updaterState(restored));
        }
    }

    private static void halfway(Model network, int first) {
        for (int step = first; step < first + 3; step++) {
            Networks.fit(network, batch(step, EXAMPLES, step % 2 == 1));
        }
    }

    private static Model restored(ByteArrayInputStream file, boolean graph, boolean withState) throws IOException {
        if (withState) {
            return graph
                    ? AmpModelSerializer.restoreComputationGraph(file, true)
                    : AmpModelSerializer.restoreMultiLayerNetwork(file, true);
        }
        return graph
                ? ModelSerializer.restoreComputationGraph(file, true)
                : ModelSerializer.restoreMultiLayerNetwork(file, true);
    }
}
