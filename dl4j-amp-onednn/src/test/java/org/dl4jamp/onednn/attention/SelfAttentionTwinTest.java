package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Attention of a sequence to itself against DL4J's own layer. */
class SelfAttentionTwinTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final double FLOAT_ERROR = 1e-5;
    /** Queries, keys, values, probabilities and the gradients of each are rounded where they enter products. */
    private static final double ROUNDINGS = 2;

    private static INDArray params(Random random, SelfAttentionLayer conf) {
        long number = conf.initializer().numParams(conf);
        return number == 0 ? null : gaussian(random, 1 / Math.sqrt((double) conf.getNIn()), number);
    }

    /** The first keys of each example count, those of the last example not at all. */
    static INDArray mask(Random random, int minibatch, int steps) {
        INDArray mask = Nd4j.create(DataType.FLOAT, minibatch, steps);
        for (int example = 0; example < minibatch; example++) {
            int length = example == minibatch - 1 ? 0 : random.nextInt(steps + 1);
            for (int step = 0; step < length; step++) {
                mask.putScalar(example, step, 1);
            }
        }
        return mask;
    }

    private static void agrees(SelfAttentionLayer conf, INDArray input, INDArray mask, Random random) {
        agrees(conf, input, mask, random, Types.here());
    }

    private static void agrees(
            SelfAttentionLayer conf, INDArray input, INDArray mask, Random random, List<DataType> types) {
        INDArray params = params(random, conf);
        Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        INDArray epsilon =
                gaussian(random, 1, dl4j.activate(input.dup(), true, NONE).shape());
        SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon);
        for (DataType type : types) {
            try (EngineSession session = new OneDnnEngine().session(1, true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                assertInstanceOf(SelfAttentionTwin.class, twin.twin().compute());
                twin.setMaskArray(mask);
                for (int repetition = 0; repetition < 2; repetition++) {
                    compare(type, expected, SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type)));
                }
            }
        }
    }

    private static void compare(DataType type, SingleLayer.Result expected, SingleLayer.Result actual) {
        double bound = ROUNDINGS * Agreement.rounding(type) + FLOAT_ERROR;
        assertEquals(type, actual.output().dataType());
        Agreement.assertWithin(type + " output", expected.output(), actual.output(), bound);
        Agreement.assertWithin(type + " input gradient", expected.inputGradient(), actual.inputGradient(), bound);
        assertEquals(
                expected.gradient().gradientForVariable().keySet(),
                actual.gradient().gradientForVariable().keySet());
        for (String name : expected.gradient().gradientForVariable().keySet()) {
            Agreement.assertWithin(type + " " + name, expected.gradient(name), actual.gradient(name), bound);
        }
    }

    @Property(tries = 40)
    void itGivesDl4jsNumbers(
            @ForAll long seed,
            @ForAll boolean masked,
            @ForAll @IntRange(min = 1, max = 8) int heads,
            @ForAll @IntRange(min = 1, max = 9) int headSize,
            @ForAll @IntRange(min = 2, max = 20) int nIn,
            @ForAll @IntRange(min = 2, max = 20) int nOut,
            @ForAll @IntRange(min = 1, max = 5) int minibatch,
            @ForAll @IntRange(min = 2, max = 30) int steps) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, minibatch, nIn, steps);
        INDArray mask = masked ? mask(random, minibatch, steps) : null;
        agrees(Networks.selfAttention(nIn, nOut, heads, headSize), input, mask, random, List.of(DataType.FLOAT));
    }

    @Property(tries = 20)
    void withoutProjectionsItGivesDl4jsNumbers(
            @ForAll long seed,
            @ForAll boolean masked,
            @ForAll @IntRange(min = 2, max = 20) int size,
            @ForAll @IntRange(min = 1, max = 5) int minibatch,
            @ForAll @IntRange(min = 2, max = 30) int steps) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, minibatch, size, steps);
        INDArray mask = masked ? mask(random, minibatch, steps) : null;
        agrees(Networks.plainSelfAttention(size), input, mask, random, List.of(DataType.FLOAT));
    }

    @Test
    void manyLongSequencesOfEightHeadsGiveDl4jsNumbers() {
        Random random = new Random(3);
        agrees(Networks.selfAttention(64, 64, 8, 8), gaussian(random, 1, 3, 64, 256), mask(random, 3, 256), random);
        agrees(Networks.selfAttention(32, 48, 2, 24), gaussian(random, 1, 1, 32, 1000), null, random);
    }

    @Test
    void aSequenceInAnotherOrderInMemoryGivesTheSameNumbers() {
        Random random = new Random(4);
        INDArray timeFirst = gaussian(random, 1, 7, 3, 6).permute(1, 2, 0);
        agrees(Networks.selfAttention(6, 4, 2, 3), timeFirst, null, random);
        agrees(Networks.plainSelfAttention(6), timeFirst, null, random);
    }

    @Test
    void oneMaskForAllExamplesAndOneNumberForAllKeysAreTakenAsByDl4j() {
        Random random = new Random(5);
        INDArray input = gaussian(random, 1, 3, 6, 4);
        agrees(Networks.selfAttention(6, 4, 2, 3), input, Nd4j.createFromArray(new float[][] {{1, 0, 1, 0}}), random);
        agrees(Networks.selfAttention(6, 4, 2, 3), input, Nd4j.createFromArray(new float[][] {{1}, {0}, {1}}), random);
    }

    @Test
    void whatDl4jRejectsIsRejected() {
        SelfAttentionLayer conf = Networks.selfAttention(6, 4, 2, 3);
        INDArray params = params(new Random(1), conf);
        Layer dl4j = SingleLayer.dl4j(conf, params);
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            INDArray[] wrong = {Nd4j.ones(2, 5, 4), Nd4j.ones(2, 6)};
            for (INDArray input : wrong) {
                String message = assertThrows(RuntimeException.class, () -> dl4j.activate(input, false, NONE))
                        .getMessage();
                assertEquals(
                        message,
                        assertThrows(RuntimeException.class, () -> twin.activate(input, false, NONE))
                                .getMessage());
            }
            INDArray input = Nd4j.ones(2, 6, 4);
            for (INDArray mask : new INDArray[] {Nd4j.ones(2, 5), Nd4j.ones(3, 4), Nd4j.ones(2, 1, 4)}) {
                dl4j.setMaskArray(mask);
                twin.setMaskArray(mask);
                assertThrows(RuntimeException.class, () -> dl4j.activate(input, false, NONE));
                assertThrows(RuntimeException.class, () -> twin.activate(input, false, NONE));
            }
            twin.setMaskArray(null);
            twin.activate(input, true, NONE);
            assertThrows(RuntimeException.class, () -> twin.backpropGradient(Nd4j.ones(2, 4, 5), NONE));
        }
    }
}
