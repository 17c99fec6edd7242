package org.dl4jamp.inspect.compare.data;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.DoubleSupplier;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Random batches for a network: features from a normal distribution, or numbers of symbols for an embedding. Labels are
 * of the kind that each loss takes: a one among zeros, zeros and ones, or numbers.
 */
public final class RandomBatches {
    private final NetworkShapes shapes;
    private final Random random;

    private RandomBatches(NetworkShapes shapes, long seed) {
        this.shapes = shapes;
        this.random = new Random(seed);
    }

    /**
     * Makes batches. The same seed makes the same ones.
     *
     * @param network a MultiLayerNetwork or ComputationGraph
     * @throws AmpException if the shapes of its inputs can't be told, or there are no such labels for an output
     */
    public static List<MultiDataSet> of(Model network, BatchSettings settings) {
        NetworkShapes shapes = NetworkShapes.of(network, settings.sizes(), settings.timesteps());
        RandomBatches random = new RandomBatches(shapes, settings.seed());
        List<MultiDataSet> batches = new ArrayList<>();
        for (int i = 0; i < settings.batches(); i++) {
            batches.add(random.next(settings.batch()));
        }
        return batches;
    }

    private MultiDataSet next(int examples) {
        return new MultiDataSet(
                shapes.inputs().stream().map(input -> features(input, examples)).toArray(INDArray[]::new),
                shapes.outputs().stream()
                        .map(output -> labels(output, examples))
                        .toArray(INDArray[]::new));
    }

    private INDArray features(NetworkShapes.Input input, int examples) {
        long[] shape = NetworkShapes.withExamples(examples, input.sizes());
        float[] numbers = new float[length(shape)];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = input.symbols() > 0
                    ? random.nextInt(Math.toIntExact(input.symbols()))
                    : (float) random.nextGaussian();
        }
        return array(numbers, shape);
    }

    private INDArray labels(NetworkShapes.Output output, int examples) {
        long[] shape = NetworkShapes.withExamples(examples, output.sizes());
        int axis = output.targets().axis(shape.length);
        int classes = Math.toIntExact(shape[axis]);
        return switch (output.targets().kind()) {
            case ONE_HOT -> oneHot(shape, axis, classes);
            case CLASS_NUMBER -> {
                shape[axis] = 1;
                yield numbers(shape, () -> random.nextInt(classes));
            }
            case BITS -> numbers(shape, () -> random.nextInt(2));
            case SIGNS -> numbers(shape, () -> 2 * random.nextInt(2) - 1);
            case POSITIVE -> numbers(shape, () -> 0.5 + random.nextDouble());
            case NUMBERS -> numbers(shape, random::nextGaussian);
        };
    }

    private INDArray numbers(long[] shape, DoubleSupplier each) {
        float[] numbers = new float[length(shape)];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) each.getAsDouble();
        }
        return array(numbers, shape);
    }

    /** Returns zeros with one 1 along an axis. */
    private INDArray oneHot(long[] shape, int axis, int classes) {
        float[] numbers = new float[length(shape)];
        int inner = 1;
        for (int i = axis + 1; i < shape.length; i++) {
            inner *= (int) shape[i];
        }
        for (int start = 0; start < numbers.length; start += classes * inner) {
            for (int i = 0; i < inner; i++) {
                numbers[start + random.nextInt(classes) * inner + i] = 1;
            }
        }
        return array(numbers, shape);
    }

    private static int length(long[] shape) {
        long length = 1;
        for (long size : shape) {
            length = Math.multiplyExact(length, size);
        }
        return Math.toIntExact(length);
    }

    private static INDArray array(float[] numbers, long[] shape) {
        return Nd4j.create(numbers, shape, 'c').castTo(DataType.FLOAT);
    }
}
