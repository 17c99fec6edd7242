package org.dl4jamp.benchmarks.cases;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
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

    /** Returns one class for each step of each example, [minibatch, classes, steps]. */
    INDArray oneHot(int classes, int steps) {
        return oneHot(text(steps, classes), classes, 0, steps);
    }

    /** Returns texts of some characters, [minibatch, characters, steps]; the label of a step is what follows it. */
    DataSet nextCharacters(int steps, int characters) {
        int[][] text = text(steps + 1, characters);
        return new DataSet(oneHot(text, characters, 0, steps), oneHot(text, characters, 1, steps));
    }

    private int[][] text(int steps, int characters) {
        int[][] text = new int[minibatch][steps];
        for (int[] line : text) {
            for (int step = 0; step < steps; step++) {
                line[step] = random.nextInt(characters);
            }
        }
        return text;
    }

    private static INDArray oneHot(int[][] text, int characters, int from, int steps) {
        float[][][] numbers = new float[text.length][characters][steps];
        for (int line = 0; line < text.length; line++) {
            for (int step = 0; step < steps; step++) {
                numbers[line][text[line][from + step]][step] = 1;
            }
        }
        return Nd4j.createFromArray(numbers);
    }
}
