package org.dl4jamp.randomized;

import java.util.List;
import java.util.Random;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Random choices that a seed repeats. */
final class Draw {
    private final Random random;

    Draw(long seed) {
        // Seeds of one another's neighbourhood give similar first numbers otherwise.
        random = new Random(seed * 0x9E3779B97F4A7C15L);
    }

    /** Returns a whole number, both ends included. */
    int between(int least, int most) {
        return least + random.nextInt(most - least + 1);
    }

    double real(double least, double most) {
        return least + (most - least) * random.nextDouble();
    }

    boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    @SafeVarargs
    final <T> T of(T... choices) {
        return choices[random.nextInt(choices.length)];
    }

    <T> T from(List<T> choices) {
        return choices.get(random.nextInt(choices.size()));
    }

    long seed() {
        return random.nextLong();
    }

    /** Returns normally distributed numbers. */
    INDArray gaussian(double deviation, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextGaussian() * deviation);
        }
        return array;
    }

    /** Returns numbers of an interval. */
    INDArray uniform(double least, double most, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, real(least, most));
        }
        return array;
    }

    /** Returns whole numbers, both ends included. */
    INDArray whole(int least, int most, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, between(least, most));
        }
        return array;
    }
}
