package org.dl4jamp.benchmarks.dl4j;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Features and labels drawn at random, the same each time. */
final class RandomBatch {
    private static final int WAVES = 3;
    private static final double MOST_PERIODS = 4;

    private final Random random = new Random(7);
    private final int minibatch;

    RandomBatch(int minibatch) {
        this.minibatch = minibatch;
    }

    /** Returns normally distributed numbers, [minibatch, shape...]. */
    INDArray features(long... shape) {
        long[] all = LongStream.concat(LongStream.of(minibatch), Arrays.stream(shape))
                .toArray();
        float[] numbers = new float[(int) Arrays.stream(all).reduce(1, Math::multiplyExact)];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) random.nextGaussian();
        }
        return Nd4j.create(numbers, all, 'c');
    }

    /**
     * Returns images of a few waves each, [minibatch, channels, side, side]. Images of noise all look the same to a
     * deep network: batch normalization blows up what little sets them apart, and rounding with it.
     */
    INDArray images(int channels, int side) {
        float[][][][] images = new float[minibatch][channels][side][side];
        for (float[][][] image : images) {
            for (float[][] channel : image) {
                for (int wave = 0; wave < WAVES; wave++) {
                    addWave(channel);
                }
            }
        }
        return Nd4j.createFromArray(images);
    }

    private void addWave(float[][] channel) {
        double alongRows = MOST_PERIODS * random.nextGaussian();
        double alongColumns = MOST_PERIODS * random.nextGaussian();
        double phase = random.nextDouble();
        for (int row = 0; row < channel.length; row++) {
            for (int column = 0; column < channel.length; column++) {
                double periods = (alongRows * row + alongColumns * column) / channel.length + phase;
                channel[row][column] += (float) Math.cos(2 * Math.PI * periods);
            }
        }
    }

    /** Returns one class for each example, [minibatch, classes]. */
    INDArray oneHot(int classes) {
        float[][] labels = new float[minibatch][classes];
        for (float[] label : labels) {
            label[random.nextInt(classes)] = 1;
        }
        return Nd4j.createFromArray(labels);
    }

    /**
     * Returns one class for each step of each example.
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
