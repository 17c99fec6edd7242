package org.dl4jamp.benchmarks.dl4j;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Features and labels drawn at random, the same each time. */
final class RandomBatch {
    private final Random random = new Random(7);
    private final int minibatch;

    RandomBatch(int minibatch) {
        this.minibatch = minibatch;
    }

    /** Normally distributed numbers, [minibatch, shape...]. */
    INDArray features(long... shape) {
        long[] all = LongStream.concat(LongStream.of(minibatch), Arrays.stream(shape))
                .toArray();
        float[] numbers = new float[(int) Arrays.stream(all).reduce(1, Math::multiplyExact)];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) random.nextGaussian();
        }
        return Nd4j.create(numbers, all, 'c');
    }

    /** One class for each example, [minibatch, classes]. */
    INDArray oneHot(int classes) {
        float[][] labels = new float[minibatch][classes];
        for (float[] label : labels) {
            label[random.nextInt(classes)] = 1;
        }
        return Nd4j.createFromArray(labels);
    }

    /**
     * One class for each step of each example.
     *
     * @return one row of steps + 1 classes per example; the label of a step is what follows it
     */
    int[][] text(int steps, int classes) {
        int[][] text = new int[minibatch][steps + 1];
        for (int[] line : text) {
            for (int step = 0; step <= steps; step++) {
                line[step] = random.nextInt(classes);
            }
        }
        return text;
    }
}
