package org.dl4jamp.onednn.output;

import java.nio.FloatBuffer;
import java.util.Optional;
import org.dl4jamp.onednn.host.FlatFloats;
import org.dl4jamp.onednn.memory.Layout;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossNegativeLogLikelihood;

/**
 * ND4J's multi-class cross entropy of a softmax, and its gradient, in FP32. For one row of sums x and labels y, p =
 * softmax(x), the loss is -Σ yᵢ log pᵢ and the gradient p - y. In the loss p is clipped as ND4J does. ND4J computes the
 * softmax twice, and also logarithms that are multiplied by zero, each operation in a pass of its own.
 */
final class SoftmaxCrossEntropy {
    private final Softmax softmax;
    private final float lowest;
    private final float highest;

    private SoftmaxCrossEntropy(Softmax softmax, double clip) {
        this.softmax = softmax;
        boolean clips = clip > 0;
        this.lowest = clips ? (float) clip : 0;
        this.highest = clips ? (float) (1 - clip) : Float.POSITIVE_INFINITY;
    }

    /** Returns the loss of an output layer; empty if the layer has another loss, or weighs its classes. */
    static Optional<SoftmaxCrossEntropy> of(ILossFunction loss, Softmax softmax) {
        // Subclasses may compute anything.
        boolean entropy = loss.getClass() == LossMCXENT.class || loss.getClass() == LossNegativeLogLikelihood.class;
        return entropy && ((LossMCXENT) loss).getWeights() == null
                ? Optional.of(new SoftmaxCrossEntropy(softmax, ((LossMCXENT) loss).getSoftmaxClipEps()))
                : Optional.empty();
    }

    /** Returns whether labels have the shape and the order in memory of the sums. */
    static boolean takes(INDArray labels, INDArray sums) {
        return Layout.dense(DataType.FLOAT, sums.shape()).isThatOf(labels);
    }

    /**
     * Returns the sum of the losses of all rows.
     *
     * @param sums {@code [rows, classes]}, FP32, dense; becomes the gradient of the sums
     * @param labels such that they are {@linkplain #takes taken}
     */
    double backward(INDArray sums, INDArray labels) {
        softmax.run(sums);
        FlatFloats probabilities = FlatFloats.of(sums).orElseThrow();
        FlatFloats targets = FlatFloats.of(labels).orElseThrow();
        return FlatFloats.sumOfRanges(
                sums.length(), (start, size) -> loss(probabilities.range(start, size), targets.range(start, size)));
    }

    /** Makes gradients of probabilities. */
    private double loss(FloatBuffer probabilities, FloatBuffer labels) {
        float[] p = new float[FlatFloats.CHUNK];
        float[] y = new float[FlatFloats.CHUNK];
        double loss = 0;
        while (probabilities.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, probabilities.remaining());
            probabilities.get(probabilities.position(), p, 0, size);
            labels.get(y, 0, size);
            loss += loss(p, y, size);
            subtract(y, p, size);
            probabilities.put(p, 0, size);
        }
        return loss;
    }

    private static void subtract(float[] y, float[] p, int size) {
        for (int i = 0; i < size; i++) {
            p[i] -= y[i];
        }
    }

    /** Most labels are zero. NaN must not be lost where they are. */
    private double loss(float[] p, float[] y, int size) {
        double loss = 0;
        for (int i = 0; i < size; i++) {
            if (y[i] != 0 || Float.isNaN(p[i])) {
                loss -= y[i] * Math.log(Math.min(Math.max(p[i], lowest), highest));
            }
        }
        return loss;
    }
}
