package org.dl4jamp.onednn.capsule;

import java.nio.FloatBuffer;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.dl4jamp.onednn.host.FlatFloats;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The examples of an FP32 array without gaps, which are computed one by one, in double. */
final class Examples {
    private final FlatFloats numbers;
    private final int count;
    private final int size;

    Examples(INDArray array) {
        this.numbers = FlatFloats.of(array).orElseThrow();
        this.count = (int) array.size(0);
        this.size = (int) (array.length() / count);
    }

    /** Calls something for the number of each example, on several threads. */
    void forEach(IntConsumer example) {
        IntStream.range(0, count).parallel().forEach(example);
    }

    private FloatBuffer range(int example) {
        return numbers.range((long) example * size, size);
    }

    /** Returns a copy of an example's numbers. */
    float[] floats(int example) {
        float[] own = new float[size];
        range(example).get(own);
        return own;
    }

    /** Returns a copy of an example's numbers. */
    double[] doubles(int example) {
        float[] own = floats(example);
        double[] doubles = new double[size];
        for (int i = 0; i < size; i++) {
            doubles[i] = own[i];
        }
        return doubles;
    }

    /** Rounds an example's numbers. */
    void write(int example, double... own) {
        float[] rounded = new float[size];
        for (int i = 0; i < size; i++) {
            rounded[i] = (float) own[i];
        }
        range(example).put(rounded);
    }
}
