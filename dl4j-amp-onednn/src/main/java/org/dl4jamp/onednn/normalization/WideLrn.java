package org.dl4jamp.onednn.normalization;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.dl4jamp.onednn.host.FlatFloats;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Local response normalization over any number of channels, in loops over the channels of each pixel. The kernels of
 * oneDNN 3.11 don't sum up a single channel, and give wrong gradients for more than five of them.
 *
 * <p>Arrays are FP32, with their channels last in memory. Sums have DL4J's order.
 */
final class WideLrn {
    /** Numbers of pixels that are computed together, in arrays that fit into the CPU's first cache. */
    private static final int BLOCK = 1024;
    /** Numbers that are worth another thread. */
    private static final int SHARE = 32 * BLOCK;

    private final LrnKernels.Formula formula;
    private final int reach;

    WideLrn(LrnKernels.Formula formula) {
        this.formula = formula;
        this.reach = (int) formula.neighbours() / 2;
    }

    /** Numbers of whole pixels: it reads and writes them from {@code start} on. */
    private interface Block {
        void compute(long start, int size);
    }

    void forward(INDArray input, INDArray output) {
        int channels = (int) input.size(1);
        FlatFloats from = numbers(input);
        FlatFloats to = numbers(output);
        inBlocks(from.length(), channels, (start, size) -> {
            float[] x = read(from, start, size);
            float[] factor = factors(bases(x, channels));
            for (int i = 0; i < size; i++) {
                x[i] *= factor[i];
            }
            write(x, to, start);
        });
    }

    /** Computes {@code e s^-beta - 2 alpha beta x (sum of neighbours' e x s^(-beta - 1))} of the formula's sums s. */
    void backward(INDArray input, INDArray epsilon, INDArray inputGradient) {
        int channels = (int) input.size(1);
        FlatFloats from = numbers(input);
        FlatFloats above = numbers(epsilon);
        FlatFloats to = numbers(inputGradient);
        float outer = 2 * formula.alpha() * formula.beta();
        inBlocks(from.length(), channels, (start, size) -> {
            float[] x = read(from, start, size);
            float[] e = read(above, start, size);
            float[] base = bases(x, channels);
            float[] factor = factors(base);
            float[] terms = new float[size];
            for (int i = 0; i < size; i++) {
                terms[i] = e[i] * x[i] * (factor[i] / base[i]);
            }
            float[] sums = sums(terms, channels);
            for (int i = 0; i < size; i++) {
                e[i] = e[i] * factor[i] - outer * x[i] * sums[i];
            }
            write(e, to, start);
        });
    }

    private static FlatFloats numbers(INDArray channelsLast) {
        return FlatFloats.of(Workspaces.contiguous(channelsLast)).orElseThrow();
    }

    private static float[] read(FlatFloats numbers, long start, int size) {
        float[] block = new float[size];
        numbers.range(start, size).get(block);
        return block;
    }

    private static void write(float[] block, FlatFloats numbers, long start) {
        numbers.range(start, block.length).put(block);
    }

    private static void inBlocks(long length, int channels, Block block) {
        int size = Math.max(1, BLOCK / channels) * channels;
        int shares = (int) Math.min(Math.max(1, length / SHARE), Math.max(1, length / size));
        IntStream.range(0, shares).parallel().forEach(share -> {
            long blocks = (length + size - 1) / size;
            long end = Math.min(length, (share + 1) * blocks / shares * size);
            for (long start = share * blocks / shares * size; start < end; start += size) {
                block.compute(start, (int) Math.min(size, end - start));
            }
        });
    }

    /** Returns {@code k + alpha * (sum of the neighbours' squares)}. */
    private float[] bases(float[] x, int channels) {
        float[] squares = new float[x.length];
        for (int i = 0; i < x.length; i++) {
            squares[i] = x[i] * x[i];
        }
        float[] sums = sums(squares, channels);
        for (int i = 0; i < sums.length; i++) {
            sums[i] = sums[i] * formula.alpha() + formula.k();
        }
        return sums;
    }

    /** Returns the sums of the neighbours' numbers. */
    private float[] sums(float[] numbers, int channels) {
        float[] sums = Arrays.copyOf(numbers, numbers.length);
        for (int pixel = 0; pixel < numbers.length; pixel += channels) {
            int end = pixel + channels;
            for (int distance = 1; distance <= Math.min(reach, channels - 1); distance++) {
                for (int i = pixel + distance; i < end; i++) {
                    sums[i] += numbers[i - distance];
                }
                for (int i = pixel; i < end - distance; i++) {
                    sums[i] += numbers[i + distance];
                }
            }
        }
        return sums;
    }

    /** Returns {@code base^-beta}; with DL4J's default, 0.75, roots are much faster than a power. */
    private float[] factors(float[] base) {
        float[] factors = new float[base.length];
        if (formula.beta() == 0.75f) {
            for (int i = 0; i < base.length; i++) {
                double root = Math.sqrt(base[i]);
                factors[i] = (float) (1 / (root * Math.sqrt(root)));
            }
        } else {
            for (int i = 0; i < base.length; i++) {
                factors[i] = (float) Math.pow(base[i], -formula.beta());
            }
        }
        return factors;
    }
}
