package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.TimeSeriesUtils;
import org.dl4jamp.Chain;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;
import org.junit.jupiter.api.Test;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.ops.transforms.Transforms;

class OutputTwinTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    /** A loss with the activation function that suits it. */
    private record Head(LossFunction loss, Activation activation) {}

    private static final List<Head> HEADS = List.of(
            new Head(LossFunction.MCXENT, Activation.SOFTMAX),
            new Head(LossFunction.MSE, Activation.IDENTITY),
            new Head(LossFunction.MSE, Activation.TANH),
            new Head(LossFunction.XENT, Activation.SIGMOID));

    private enum Mask {
        NONE,
        PER_ROW,
        PER_OUTPUT
    }

    /** All results of an output layer. */
    private record Answers(
            INDArray output, Gradient gradient, INDArray inputGradient, double score, INDArray scores, double kept) {}

    @Provide
    Arbitrary<Head> heads() {
        return Arbitraries.of(HEADS);
    }

    @Property(tries = 40)
    void agreesWithDl4jsLayerOnRandomShapes(
            @ForAll long seed,
            @ForAll("heads") Head head,
            @ForAll Mask mask,
            @ForAll @IntRange(min = 1, max = 60) int nIn,
            @ForAll @IntRange(min = 2, max = 40) int nOut,
            @ForAll @IntRange(min = 1, max = 9) int batch,
            @ForAll boolean bias) {
        Random random = new Random(seed);
        OutputLayer conf = new OutputLayer.Builder(head.loss())
                .nIn(nIn)
                .nOut(nOut)
                .hasBias(bias)
                .activation(head.activation())
                .build();
        INDArray input = gaussian(random, 1, batch, nIn);
        INDArray labels = labels(random, batch, nOut);
        agree(random, conf, head, input, labels, mask(random, allowed(mask, head, batch), labels, new long[] {batch, 1
        }));
    }

    @Property(tries = 40)
    void agreesWithDl4jsLayerOnRandomSequences(
            @ForAll long seed,
            @ForAll("heads") Head head,
            @ForAll Mask mask,
            @ForAll RNNFormat format,
            @ForAll @IntRange(min = 1, max = 40) int nIn,
            @ForAll @IntRange(min = 2, max = 20) int nOut,
            @ForAll @IntRange(min = 1, max = 5) int batch,
            @ForAll @IntRange(min = 2, max = 7) int time,
            @ForAll boolean channelsLastInMemory) {
        Random random = new Random(seed);
        RnnOutputLayer conf = new RnnOutputLayer.Builder(head.loss())
                .nIn(nIn)
                .nOut(nOut)
                .activation(head.activation())
                .dataFormat(format)
                .build();
        INDArray input = gaussian(random, 1, batch, nIn, time);
        INDArray labels = labels(random, batch * time, nOut)
                .reshape('c', batch, time, nOut)
                .permute(0, 2, 1)
                .dup('c');
        INDArray masks = mask(random, allowed(mask, head, batch * time), labels, new long[] {batch, time});
        if (channelsLastInMemory) {
            input = input.permute(0, 2, 1).dup('c').permute(0, 2, 1);
        }
        if (format == RNNFormat.NWC) {
            input = input.permute(0, 2, 1);
            labels = labels.permute(0, 2, 1).dup('f');
        }
        agree(random, conf, head, input, labels, masks);
    }

    // DL4J rejects masks per output for softmax with MCXENT, and takes a mask of a single row for one.
    private static Mask allowed(Mask mask, Head head, int rows) {
        if (head.loss() != LossFunction.MCXENT || mask == Mask.NONE) {
            return mask;
        }
        return rows == 1 ? Mask.NONE : Mask.PER_ROW;
    }

    private static INDArray labels(Random random, int rows, int nOut) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, rows, nOut);
        for (int row = 0; row < rows; row++) {
            labels.putScalar(row, random.nextInt(nOut), 1);
        }
        return labels;
    }

    private static INDArray mask(Random random, Mask mask, INDArray labels, long[] rows) {
        if (mask == Mask.NONE) {
            return null;
        }
        INDArray array = Nd4j.ones(DataType.FLOAT, mask == Mask.PER_ROW ? rows : labels.shape());
        for (long i = 1; i < array.length(); i++) {
            array.putScalar(i, random.nextInt(3) == 0 ? 0 : 1);
        }
        return array;
    }

    private static void agree(
            Random random, BaseOutputLayer conf, Head head, INDArray input, INDArray labels, INDArray mask) {
        INDArray params = gaussian(random, 0.3, conf.initializer().numParams(conf));
        Answers expected = ask((IOutputLayer) SingleLayer.dl4j(conf, params), input, labels, mask);
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                IOutputLayer twin = twin(session, conf, params, type);
                Answers actual = ask(twin, input.castTo(type), labels, mask);
                Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
                assertEquals(
                        expected.score(), actual.score(), 1e-5 * (1 + Math.abs(expected.score())), head.toString());
                assertEquals(actual.score(), actual.kept(), 1e-6 * (1 + Math.abs(actual.score())));
                Agreement.assertWithin(type + " scores", expected.scores(), actual.scores(), 1e-5);
                if (type == DataType.FLOAT) {
                    assertExact(expected, actual);
                } else {
                    assertBounded(expected, actual, Magnitudes.of(conf, params, input, labels, mask));
                }
            }
        }
    }

    private static void assertExact(Answers expected, Answers actual) {
        Agreement.assertWithin("FLOAT input", expected.inputGradient(), actual.inputGradient(), 2e-5);
        for (String parameter : expected.gradient().gradientForVariable().keySet()) {
            INDArray gradient = expected.gradient().getGradientFor(parameter);
            // A bias gradient may be the sum of terms that cancel.
            double error = 1e-5 * (1 + gradient.norm2Number().doubleValue());
            double difference = gradient.distance2(actual.gradient().getGradientFor(parameter));
            assertTrue(difference <= error, "FLOAT " + parameter + " is off by " + difference);
        }
    }

    private static void assertBounded(Answers expected, Answers actual, Magnitudes magnitudes) {
        Agreement.assertBounded(
                "BFLOAT16 input", expected.inputGradient(), actual.inputGradient(), magnitudes.inputGradient());
        Agreement.assertBounded(
                "BFLOAT16 W",
                expected.gradient().getGradientFor("W"),
                actual.gradient().getGradientFor("W"),
                magnitudes.weightGradient());
        if (expected.gradient().gradientForVariable().containsKey("b")) {
            Agreement.assertBounded(
                    "BFLOAT16 b",
                    expected.gradient().getGradientFor("b"),
                    actual.gradient().getGradientFor("b"),
                    magnitudes.biasGradient());
        }
    }

    /** Sums of the magnitudes of what gradients are summed up from, all of it rounded once to BFLOAT16. */
    private record Magnitudes(INDArray inputGradient, INDArray weightGradient, INDArray biasGradient) {
        static Magnitudes of(BaseOutputLayer conf, INDArray params, INDArray input, INDArray labels, INDArray mask) {
            boolean sequences = input.rank() == 3;
            boolean last = conf instanceof RnnOutputLayer rnn && rnn.getRnnDataFormat() == RNNFormat.NWC;
            INDArray x = rows(input, last);
            INDArray rowMask = mask == null || (!sequences && mask.rank() == 2)
                    ? mask
                    : mask.rank() == 3 ? rows(mask, false) : mask.dup('f').reshape('f', mask.length(), 1);
            IOutputLayer layer = (IOutputLayer) SingleLayer.dl4j(conf, params);
            INDArray weights = layer.getParam("W");
            INDArray sums = x.mmul(weights);
            if (conf.hasBias()) {
                sums.addiRowVector(layer.getParam("b"));
            }
            INDArray delta = Transforms.abs(
                    conf.getLossFn().computeGradient(rows(labels, last), sums, conf.getActivationFn(), rowMask));
            INDArray next = delta.mmul(Transforms.abs(weights).transpose());
            INDArray inputGradient = sequences ? TimeSeriesUtils.reshape2dTo3d(next, (int) input.size(0)) : next;
            return new Magnitudes(
                    last ? inputGradient.permute(0, 2, 1) : inputGradient,
                    Transforms.abs(x).transpose().mmul(delta),
                    delta.sum(true, 0));
        }

        private static INDArray rows(INDArray array, boolean channelsLast) {
            return array.rank() == 2
                    ? array
                    : TimeSeriesUtils.reshape3dTo2d(channelsLast ? array.permute(0, 2, 1) : array);
        }
    }

    private static IOutputLayer twin(EngineSession session, BaseOutputLayer conf, INDArray params, DataType type) {
        org.deeplearning4j.nn.api.Layer master = SingleLayer.dl4j(conf, params);
        Precision precision = type == DataType.BFLOAT16 ? Precision.BFLOAT16 : Precision.FLOAT;
        org.deeplearning4j.nn.api.Layer twin =
                session.twin(Chain.request(master, precision, type)).compute();
        assertInstanceOf(Twin.ScoringOutput.class, twin);
        twin.setBackpropGradientsViewArray(master.getGradientsViewArray());
        return (IOutputLayer) twin;
    }

    private static Answers ask(IOutputLayer layer, INDArray input, INDArray labels, INDArray mask) {
        layer.setMaskArray(mask);
        INDArray output = layer.activate(input.dup(), false, NONE).dup();
        layer.setInput(input.dup(), NONE);
        layer.setLabels(labels);
        Pair<Gradient, INDArray> backward = layer.backpropGradient(null, NONE);
        double kept = layer instanceof Twin.ScoringOutput scoring ? scoring.scoreOfBackwardPass(0.25) : Double.NaN;
        double score = layer.computeScore(0.25, true, NONE);
        INDArray scores = layer.computeScoreForExamples(0.5, NONE);
        return new Answers(output, backward.getFirst(), backward.getSecond(), score, scores, kept);
    }

    @Test
    void answersABadShapeAsDl4jDoes() {
        OutputLayer rows =
                new OutputLayer.Builder(LossFunction.MSE).nIn(5).nOut(3).build();
        RnnOutputLayer sequences =
                new RnnOutputLayer.Builder(LossFunction.MSE).nIn(5).nOut(3).build();
        answersAlike(rows, Nd4j.zeros(2, 4), Nd4j.zeros(2, 3));
        answersAlike(rows, Nd4j.zeros(2, 5, 2), Nd4j.zeros(2, 3));
        answersAlike(rows, Nd4j.zeros(2, 5), Nd4j.zeros(2, 4));
        answersAlike(sequences, Nd4j.zeros(2, 5), Nd4j.zeros(2, 3, 4));
        answersAlike(sequences, Nd4j.zeros(2, 4, 4), Nd4j.zeros(2, 3, 4));
        sequences.setRnnDataFormat(RNNFormat.NCW);
        answersAlike(sequences, Nd4j.zeros(2, 4, 4), Nd4j.zeros(2, 3, 4));
        answersAlike(sequences, Nd4j.zeros(2, 5, 4), Nd4j.zeros(2, 3, 5));
        answersAlike(sequences, Nd4j.zeros(2, 5, 4), Nd4j.zeros(2, 3));
    }

    private static void answersAlike(BaseOutputLayer conf, INDArray input, INDArray labels) {
        INDArray params = gaussian(new Random(1), 1, conf.initializer().numParams(conf));
        String expected = complaint((IOutputLayer) SingleLayer.dl4j(conf, params), input, labels);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            assertEquals(
                    expected,
                    complaint(twin(session, conf, params, DataType.FLOAT), input, labels)
                            .replace("OutputTwin", "OutputLayer"));
        }
    }

    private static String complaint(IOutputLayer layer, INDArray input, INDArray labels) {
        layer.setInput(input, NONE);
        layer.setLabels(labels);
        return assertThrows(RuntimeException.class, () -> layer.backpropGradient(null, NONE))
                .getMessage();
    }
}
