package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.SequenceNetwork.batch;
import static org.dl4jamp.onednn.SequenceNetwork.updaterState;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;

/** Masks of a wrong shape and unusual heads, in networks with attention and LSTMs with peepholes: what stock does. */
class SequenceBadInputTest {
    private static final int EXAMPLES = 4;

    private static Stream<Arguments> networks() {
        return Arrays.stream(SequenceNetwork.values())
                .filter(SequenceNetwork::isInStock)
                .flatMap(kind -> Types.precisions().stream().map(precision -> Arguments.of(kind, precision)));
    }

    private static AmpConfig on(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    /** Returns the exception of a step; null for none. */
    private static RuntimeException failure(Model network, DataSet data) {
        try {
            Networks.fit(network, data);
            return null;
        } catch (RuntimeException e) {
            return e;
        }
    }

    @ParameterizedTest
    @MethodSource("networks")
    void aMaskOfAWrongShapeThrowsWhatStockThrowsAndTheNextStepIsStocks(SequenceNetwork kind, Precision precision) {
        Random random = new Random(5);
        for (long[] shape : new long[][] {{EXAMPLES, 5}, {EXAMPLES + 1, 6}, {EXAMPLES, 1, 6}, {EXAMPLES, 7}}) {
            INDArray mask = Nd4j.ones(DataType.FLOAT, shape);
            DataSet good = batch(random.nextInt(), EXAMPLES, true);
            DataSet bad = new DataSet(good.getFeatures(), good.getLabels(), mask, good.getLabelsMaskArray());
            Model stock = kind.make(new Sgd(0.1));
            Model ours = kind.make(new Sgd(0.1));
            INDArray before = stock.params().dup();
            try (MixedPrecision amp = MixedPrecision.enable(ours, on(precision))) {
                RuntimeException expected = failure(stock, bad.copy());
                RuntimeException actual = failure(ours, bad.copy());
                String what = Arrays.toString(shape) + ": " + expected + " and " + actual;
                assertEquals(expected == null, actual == null, what);
                if (expected != null) {
                    assertInstanceOf(expected.getClass(), actual, what);
                    assertEquals(before, ours.params(), what);
                    assertEquals(0, amp.stepsTaken());
                }
                // Stock has the masks of a failed step for good.
                Model fresh = expected == null ? stock : kind.make(new Sgd(0.1));
                Networks.fit(fresh, good);
                Networks.fit(ours, good);
                double bound = precision == Precision.FLOAT ? 4e-5 : 4e-2;
                Agreement.assertWithin(
                        what, fresh.params().sub(before), ours.params().sub(before), bound);
            }
        }
    }

    private static MultiLayerNetwork ofHeads(int heads, int size) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Sgd(0.1))
                .list()
                .layer(new SelfAttentionLayer.Builder()
                        .nOut(3)
                        .nHeads(heads)
                        .headSize(size)
                        .projectInput(true)
                        .build())
                .layer(Networks.rnnRegression(3))
                .setInputType(InputType.recurrent(5))
                .build());
    }

    @Test
    void moreHeadsThanUnitsTrainAsInStockWhereTheSizeOfHeadsIsGiven() {
        for (Precision precision : Types.precisions()) {
            MultiLayerNetwork stock = ofHeads(7, 2);
            MultiLayerNetwork ours = ofHeads(7, 2);
            INDArray before = stock.params().dup();
            try (MixedPrecision amp = MixedPrecision.enable(ours, on(precision))) {
                assertEquals(precision, amp.plan().row("layer0").precision(), amp.plan()::toString);
                for (int step = 0; step < 3; step++) {
                    stock.fit(batch(step, EXAMPLES, true));
                    ours.fit(batch(step, EXAMPLES, true));
                }
            }
            double bound = precision == Precision.FLOAT ? 4e-5 : 4e-2;
            Agreement.assertWithin(
                    "change", stock.params().sub(before), ours.params().sub(before), bound);
        }
    }

    @Test
    void moreHeadsThanUnitsAreRefusedByDl4jWhereItIsnt() {
        assertThrows(IllegalArgumentException.class, () -> new SelfAttentionLayer.Builder()
                .nIn(5)
                .nOut(3)
                .nHeads(7)
                .projectInput(true)
                .build());
    }

    @ParameterizedTest
    @MethodSource("networks")
    void afterAWrongMaskAdamsStateIsUntouched(SequenceNetwork kind, Precision precision) {
        Model ours = kind.make(new Adam(1e-2));
        DataSet good = batch(1, EXAMPLES, true);
        DataSet bad = new DataSet(
                good.getFeatures(),
                good.getLabels(),
                Nd4j.ones(DataType.FLOAT, EXAMPLES, 5),
                good.getLabelsMaskArray());
        try (MixedPrecision amp = MixedPrecision.enable(ours, on(precision))) {
            Networks.fit(ours, good);
            INDArray state = updaterState(ours).dup();
            INDArray params = ours.params().dup();
            if (failure(ours, bad) != null) {
                assertEquals(state, updaterState(ours));
                assertEquals(params, ours.params());
                assertEquals(1, amp.stepsTaken());
            }
        }
    }
}
