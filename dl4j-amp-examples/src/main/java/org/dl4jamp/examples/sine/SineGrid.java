package org.dl4jamp.examples.sine;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A square grid over 0..1 in both directions, with the value to learn at each point: cos(2π·4·x) + cos(2π·2·y). It is
 * cut into four levels of equal width between its smallest and its largest value, and scaled to 0..1. The steps are
 * what makes it hard to learn.
 *
 * @param coordinates [1, 2, size, size]: channel 0 holds x, which grows with the column, channel 1 holds y, which grows
 *     with the row
 * @param target [1, 1, size, size]
 */
record SineGrid(INDArray coordinates, INDArray target) {
    private static final int X_FREQUENCY = 4;
    private static final int Y_FREQUENCY = 2;
    private static final int LEVELS = 4;

    /**
     * Returns the grid.
     *
     * @param size points along each side, at least 2
     */
    static SineGrid ofSize(int size) {
        float[][][][] coordinates = new float[1][2][size][size];
        double[][] wave = new double[size][size];
        double min = Double.POSITIVE_INFINITY;
        double max = Double.NEGATIVE_INFINITY;
        for (int row = 0; row < size; row++) {
            double y = row / (size - 1.0);
            for (int column = 0; column < size; column++) {
                double x = column / (size - 1.0);
                coordinates[0][0][row][column] = (float) x;
                coordinates[0][1][row][column] = (float) y;
                wave[row][column] = Math.cos(2 * Math.PI * X_FREQUENCY * x) + Math.cos(2 * Math.PI * Y_FREQUENCY * y);
                min = Math.min(min, wave[row][column]);
                max = Math.max(max, wave[row][column]);
            }
        }
        float[][][][] target = new float[1][1][size][size];
        for (int row = 0; row < size; row++) {
            for (int column = 0; column < size; column++) {
                target[0][0][row][column] = level((wave[row][column] - min) / (max - min)) / (LEVELS - 1f);
            }
        }
        return new SineGrid(Nd4j.createFromArray(coordinates), Nd4j.createFromArray(target));
    }

    int size() {
        return (int) coordinates.size(2);
    }

    /**
     * Returns the level, 0 to 3, of a value that was scaled to 0..1; the largest value belongs to the highest level.
     */
    private static int level(double scaled) {
        return Math.min(LEVELS - 1, (int) (scaled * LEVELS));
    }

    /** Returns the mean of what DL4J's {@code CnnLossLayer} sums over the points of the grid. */
    double meanOverPoints(double score) {
        return score / target.length();
    }
}
