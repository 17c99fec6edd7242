package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossBinaryXENT;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossNegativeLogLikelihood;
import org.nd4j.linalg.lossfunctions.impl.LossSparseMCXENT;

class SoftmaxCrossEntropyTest {
    private static final ActivationSoftmax SOFTMAX = new ActivationSoftmax();

    @Property(tries = 60)
    void agreesWithTheFormulaInDoublePrecision(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 50) int rows,
            @ForAll @IntRange(min = 1, max = 700) int classes,
            @ForAll boolean soft) {
        Random random = new Random(seed);
        INDArray sums = gaussian(random, 3, rows, classes);
        agree(sums, soft ? shares(random, rows, classes) : hits(random, rows, classes));
    }

    /** A vocabulary: more numbers than one thread takes at once. */
    @Test
    void agreesWithTheFormulaOnManyClasses() {
        Random random = new Random(5);
        agree(gaussian(random, 2, 20, 30_000), hits(random, 20, 30_000));
    }

    private static void agree(INDArray sums, INDArray labels) {
        INDArray gradient = sums.dup();
        double loss = backward(new LossMCXENT(), gradient, labels);
        double expected = 0;
        for (int row = 0; row < sums.rows(); row++) {
            double[] x = sums.getRow(row).toDoubleVector();
            double[] y = labels.getRow(row).toDoubleVector();
            double[] actual = gradient.getRow(row).toDoubleVector();
            double total = 0;
            for (double one : x) {
                total += Math.exp(one);
            }
            for (int i = 0; i < x.length; i++) {
                double probability = Math.exp(x[i]) / total;
                expected -= y[i] * Math.log(Math.max(probability, 1e-10));
                assertEquals(probability - y[i], actual[i], 1e-6, "row " + row + ", class " + i);
            }
        }
        assertEquals(expected, loss, 1e-5 * (1 + expected));
    }

    private static INDArray hits(Random random, int rows, int classes) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, rows, classes);
        for (int row = 0; row < rows; row++) {
            labels.putScalar(row, random.nextInt(classes), 1);
        }
        return labels;
    }

    private static INDArray shares(Random random, int rows, int classes) {
        INDArray labels = gaussian(random, 1, rows, classes);
        labels.muli(labels);
        return labels.diviColumnVector(labels.sum(true, 1));
    }

    private static double backward(ILossFunction loss, INDArray sums, INDArray labels) {
        try (OneDnnContext context = new OneDnnContext();
                Softmax softmax = Softmax.of(context, SOFTMAX, () -> "output").orElseThrow()) {
            return SoftmaxCrossEntropy.of(loss, softmax).orElseThrow().backward(sums, labels);
        }
    }

    private static Optional<SoftmaxCrossEntropy> of(OneDnnContext context, ILossFunction loss, IActivation activation) {
        return Softmax.of(context, activation, () -> "output")
                .flatMap(softmax -> SoftmaxCrossEntropy.of(loss, softmax));
    }

    @Test
    void clipsProbabilitiesAsNd4jDoes() {
        INDArray labels = Nd4j.createFromArray(new float[][] {{0, 1}, {1, 0}});
        INDArray sums = Nd4j.createFromArray(new float[][] {{100, -100}, {100, -100}});
        for (LossMCXENT loss : new LossMCXENT[] {new LossMCXENT(), new LossMCXENT(0.125, null)}) {
            double expected = loss.computeScore(labels, sums.dup(), SOFTMAX, null, false);
            assertEquals(expected, backward(loss, sums.dup(), labels), 1e-5 * expected);
        }
    }

    @Test
    void keepsNonFiniteSums() {
        INDArray labels = Nd4j.createFromArray(new float[][] {{0, 0, 0}, {1, 0, 0}});
        INDArray sums = Nd4j.createFromArray(new float[][] {{0, Float.NaN, 1}, {1, 2, 3}});
        assertTrue(Double.isNaN(backward(new LossMCXENT(), sums, labels)));
        assertTrue(Double.isNaN(sums.getDouble(0, 1)));
        assertTrue(Double.isFinite(sums.getDouble(1, 0)));
    }

    @Test
    void isForThatLossAndActivationFunctionOnly() {
        try (OneDnnContext context = new OneDnnContext()) {
            assertTrue(of(context, new LossNegativeLogLikelihood(), SOFTMAX).isPresent());
            assertFalse(of(context, new LossMCXENT(Nd4j.ones(1, 3)), SOFTMAX).isPresent());
            assertFalse(of(context, new LossMCXENT(), new ActivationSigmoid()).isPresent());
            assertFalse(of(context, new LossBinaryXENT(), SOFTMAX).isPresent());
            assertFalse(of(context, new LossSparseMCXENT(), SOFTMAX).isPresent());
        }
    }

    @Test
    void takesLabelsThatLieAsTheSumsDo() {
        INDArray sums = Nd4j.zeros(DataType.FLOAT, 3, 2);
        assertTrue(SoftmaxCrossEntropy.takes(Nd4j.zeros(DataType.FLOAT, 3, 2), sums));
        assertFalse(SoftmaxCrossEntropy.takes(Nd4j.zeros(DataType.DOUBLE, 3, 2), sums));
        assertFalse(SoftmaxCrossEntropy.takes(Nd4j.zeros(DataType.FLOAT, 2, 3).transpose(), sums));
        assertFalse(SoftmaxCrossEntropy.takes(Nd4j.zeros(DataType.FLOAT, 3, 3), sums));
    }
}
