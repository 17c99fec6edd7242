package org.dl4jamp.onednn.vertex;

import java.nio.FloatBuffer;
import org.dl4jamp.onednn.host.FlatFloats;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The FP32 numbers of each example of an array that is channels-last: they follow each other in memory. */
final class ExampleBlocks {
    private final FlatFloats numbers;
    private final int examples;
    private final int size;

    ExampleBlocks(INDArray channelsLast) {
        this.numbers = FlatFloats.of(Workspaces.contiguous(channelsLast)).orElseThrow();
        this.examples = (int) channelsLast.size(0);
        this.size = (int) (channelsLast.length() / examples);
    }

    int examples() {
        return examples;
    }

    private FloatBuffer block(int example) {
        return numbers.range((long) example * size, size);
    }

    /** Returns a copy of an example's numbers. */
    float[] read(int example) {
        float[] block = new float[size];
        block(example).get(block);
        return block;
    }

    void write(int example, float... block) {
        block(example).put(block);
    }

    static double norm(float[] block) {
        return Math.sqrt(product(block, block));
    }

    static double product(float[] one, float[] other) {
        double sum = 0;
        for (int i = 0; i < one.length; i++) {
            sum += (double) one[i] * other[i];
        }
        return sum;
    }

    /** Multiplies in place, and returns the block. */
    static float[] scaled(float[] block, float factor) {
        for (int i = 0; i < block.length; i++) {
            block[i] *= factor;
        }
        return block;
    }
}
