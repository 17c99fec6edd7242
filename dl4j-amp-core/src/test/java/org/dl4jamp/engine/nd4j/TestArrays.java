package org.dl4jamp.engine.nd4j;

import java.util.Random;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Arrays of random numbers that HALF can represent, and HALF arithmetic in plain Java. */
final class TestArrays {
    private TestArrays() {}

    /** FLOAT array of normally distributed numbers, rounded to HALF. */
    static INDArray gaussian(Random random, double deviation, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, roundToHalf(deviation * random.nextGaussian()));
        }
        return array;
    }

    /** FLOAT array of numbers between 0 and 1, rounded to HALF. */
    static INDArray uniform(Random random, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, roundToHalf(random.nextDouble()));
        }
        return array;
    }

    static INDArray half(INDArray array) {
        return array.castTo(DataType.HALF);
    }

    static INDArray roundedToHalf(INDArray array) {
        return array.castTo(DataType.HALF).castTo(DataType.FLOAT);
    }

    /** The nearest HALF number, ties to even; for finite results. */
    static double roundToHalf(double value) {
        return Math.rint(value / ulpOfHalf(value)) * ulpOfHalf(value);
    }

    static double ulpOfHalf(double value) {
        return Math.scalb(1.0, Math.max(Math.getExponent(value), -14) - 10);
    }

    /** A sum of products as FP16 units accumulate it: rounded after each addition. */
    static double halfPrecisionDot(double[] left, double[] right) {
        double sum = 0;
        for (int i = 0; i < left.length; i++) {
            sum = roundToHalf(sum + left[i] * right[i]);
        }
        return sum;
    }

    static double dot(double[] left, double[] right) {
        double sum = 0;
        for (int i = 0; i < left.length; i++) {
            sum += left[i] * right[i];
        }
        return sum;
    }
}
