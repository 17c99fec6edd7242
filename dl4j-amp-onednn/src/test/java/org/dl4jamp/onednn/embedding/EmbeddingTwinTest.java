package org.dl4jamp.onednn.embedding;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.ops.transforms.Transforms;

class EmbeddingTwinTest {
    /** The error of a derivative such as 1 - tanh², relative to its largest value: some last bits of FP32. */
    private static final double DERIVATIVE_ERROR = 1e-6;

    private static INDArray indices(Random random, int size, long... shape) {
        INDArray indices = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < indices.length(); i++) {
            indices.putScalar(i, random.nextInt(size));
        }
        return indices;
    }

    private static INDArray mask(Random random, long minibatch, long steps) {
        INDArray mask = Nd4j.ones(DataType.FLOAT, minibatch, steps);
        mask.putScalar(random.nextInt((int) minibatch), random.nextInt((int) steps), 0);
        return mask;
    }

    /** FP32, whatever the precision: the output is cast outside. */
    private static void assertAgrees(FeedForwardLayer conf, INDArray input, INDArray mask, INDArray epsilon) {
        INDArray params = gaussian(new Random(3), 1, conf.initializer().numParams(conf));
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        // Nothing is computed but sums with a bias, in DL4J's order, unless there is a function.
        double error = conf.getActivationFn() instanceof ActivationIdentity ? 0 : 1e-5;
        dl4j.setMaskArray(mask);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        // Derivatives are no larger than 2 here, so gradients are summed up from terms of these magnitudes.
        FeedForwardLayer linear = (FeedForwardLayer) conf.clone();
        linear.setActivationFn(new ActivationIdentity());
        org.deeplearning4j.nn.api.Layer other = SingleLayer.dl4j(linear, params);
        other.setMaskArray(mask);
        SingleLayer.Result magnitudes = SingleLayer.run(other, input, Transforms.abs(epsilon, true));
        for (Precision precision : new Precision[] {Precision.FLOAT, Precision.BFLOAT16}) {
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                Twin twin = twin(session, conf, params, precision);
                twin.compute().setMaskArray(mask);
                SingleLayer.Result actual = SingleLayer.run(twin.compute(), input, epsilon);
                assertEquals(DataType.FLOAT, twin.dataType());
                Agreement.assertWithin("output", expected.output(), actual.output(), error);
                assertNull(actual.inputGradient());
                assertEquals(
                        expected.gradient().gradientForVariable().keySet(),
                        actual.gradient().gradientForVariable().keySet());
                for (String parameter : dl4j.paramTable().keySet()) {
                    Agreement.assertSummedOfRounded(
                            "gradient of " + parameter,
                            expected.gradient().getGradientFor(parameter),
                            actual.gradient().getGradientFor(parameter),
                            magnitudes.gradient().getGradientFor(parameter),
                            DERIVATIVE_ERROR);
                }
            }
        }
    }

    private static Twin twin(EngineSession session, FeedForwardLayer conf, INDArray params, Precision precision) {
        org.deeplearning4j.nn.api.Layer master = SingleLayer.dl4j(conf, params);
        Twin twin = session.twin(Chain.request(master, precision, DataType.BFLOAT16));
        assertInstanceOf(AutoCloseable.class, twin.compute());
        twin.compute().setBackpropGradientsViewArray(master.getGradientsViewArray());
        return twin;
    }

    /** None, one of oneDNN's and one that only ND4J has. */
    @Provide
    Arbitrary<Activation> functions() {
        return Arbitraries.of(Activation.IDENTITY, Activation.TANH, Activation.SELU);
    }

    @Property(tries = 20)
    void looksUpWhatDl4jsLayerDoes(
            @ForAll long seed,
            @ForAll boolean masked,
            @ForAll boolean biased,
            @ForAll("functions") Activation function,
            @ForAll @IntRange(min = 1, max = 50) int nIn,
            @ForAll @IntRange(min = 1, max = 30) int nOut,
            @ForAll @IntRange(min = 1, max = 20) int minibatch) {
        Random random = new Random(seed);
        assertAgrees(
                new EmbeddingLayer.Builder()
                        .nIn(nIn)
                        .nOut(nOut)
                        .hasBias(biased)
                        .activation(function)
                        .build(),
                indices(random, nIn, minibatch, 1),
                masked ? mask(random, minibatch, 1) : null,
                gaussian(random, 1, minibatch, nOut));
    }

    @Property(tries = 20)
    void looksSequencesUpAsDl4jsLayerDoes(
            @ForAll long seed,
            @ForAll boolean masked,
            @ForAll boolean biased,
            @ForAll("functions") Activation function,
            @ForAll boolean nwc,
            @ForAll boolean withChannel,
            @ForAll @IntRange(min = 1, max = 50) int nIn,
            @ForAll @IntRange(min = 1, max = 30) int nOut,
            @ForAll @IntRange(min = 1, max = 5) int minibatch,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        Random random = new Random(seed);
        EmbeddingSequenceLayer conf = new EmbeddingSequenceLayer.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .inputLength(steps)
                .hasBias(biased)
                .activation(function)
                .outputDataFormat(nwc ? RNNFormat.NWC : RNNFormat.NCW)
                .build();
        assertAgrees(
                conf,
                withChannel ? indices(random, nIn, minibatch, 1, steps) : indices(random, nIn, minibatch, steps),
                masked ? mask(random, minibatch, steps) : null,
                nwc ? gaussian(random, 1, minibatch, steps, nOut) : gaussian(random, 1, minibatch, nOut, steps));
    }

    /** The twelve terms of the bias's gradient nearly cancel, but not their rounding. */
    @Test
    void sumsThatCancelAreAsExactAsTheirTerms() {
        looksSequencesUpAsDl4jsLayerDoes(-1977, false, true, Activation.TANH, true, true, 40, 1, 2, 6);
        looksSequencesUpAsDl4jsLayerDoes(-1977, false, true, Activation.TANH, false, true, 40, 1, 2, 6);
    }

    @Test
    void answersBadIndicesAndShapesAsDl4jDoes() {
        FeedForwardLayer one = new EmbeddingLayer.Builder().nIn(5).nOut(3).build();
        assertSameMessage(one, Nd4j.createFromArray(new float[][] {{1}, {5}}));
        assertSameMessage(one, Nd4j.createFromArray(new float[][] {{1, 2}, {3, 4}}));
        FeedForwardLayer sequence = new EmbeddingSequenceLayer.Builder()
                .nIn(5)
                .nOut(3)
                .inputLength(2)
                .inferInputLength(false)
                .build();
        assertSameMessage(sequence, Nd4j.createFromArray(new float[][] {{1, -1}, {0, 2}}));
        assertSameMessage(sequence, Nd4j.createFromArray(new float[][] {{1, 1, 1}}));
    }

    private static void assertSameMessage(FeedForwardLayer conf, INDArray input) {
        INDArray params = gaussian(new Random(3), 1, conf.getNIn() * conf.getNOut());
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            assertEquals(
                    messageOf(SingleLayer.dl4j(conf, params), input),
                    messageOf(twin(session, conf, params, Precision.BFLOAT16).compute(), input));
        }
    }

    private static String messageOf(org.deeplearning4j.nn.api.Layer layer, INDArray input) {
        LayerWorkspaceMgr none = LayerWorkspaceMgr.noWorkspaces();
        layer.setInput(input, none);
        return assertThrows(RuntimeException.class, () -> layer.activate(false, none))
                .getMessage()
                .replaceAll("layer type: \\w+", "");
    }
}
