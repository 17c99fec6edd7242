package org.dl4jamp.randomized;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.dl4jamp.randomized.Heads.Labels;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Data for a network. */
final class Batches {
    /** Some roundings' worth of relative difference. */
    static final double ROUNDING = 3e-6;

    private final NetworkDescription network;
    private final boolean masked;
    private final DataType type;
    private long neighbour;

    /** Data in FP32 that a seed repeats. */
    Batches(NetworkDescription network, boolean masked) {
        this(network, masked, DataType.FLOAT, 0);
    }

    /**
     * Data that a seed repeats.
     *
     * @param type of the network. Stock DL4J's Deconvolution2D takes no features of another one
     * @param neighbour 0, or the number of a neighbour, with features that differ by a rounding error
     */
    Batches(NetworkDescription network, boolean masked, DataType type, int neighbour) {
        this.network = network;
        this.masked = masked;
        this.type = type;
        this.neighbour = neighbour;
    }

    private INDArray rounded(INDArray features) {
        if (neighbour > 0) {
            neighbour += 1000;
            features.muli(new Draw(neighbour).uniform(1 - ROUNDING, 1 + ROUNDING, features.shape()));
        }
        return features;
    }

    /** Returns a batch of random size. */
    Batch of(Draw draw) {
        int examples = draw.between(1, 4);
        // Stock graphs take the last fit's batch size in output, and cut rows into the wrong sequences with it.
        return of(draw, network.graph() && network.names("FeedForwardToRnn") ? 3 : examples);
    }

    Batch of(Draw draw, int examples) {
        List<NetworkDescription.Input> inputs = network.inputs();
        List<NetworkDescription.Output> outputs = network.outputs();
        INDArray[] features = new INDArray[inputs.size()];
        INDArray[] featureMasks = new INDArray[inputs.size()];
        for (int i = 0; i < features.length; i++) {
            NetworkDescription.Input input = inputs.get(i);
            features[i] = input.indices() > 0
                    ? draw.whole(0, LayersOfVectors.ROWS - 1, examples, input.indices())
                    : rounded(draw.gaussian(1, shape(input.type(), examples))).castTo(type);
            boolean sequence = input.type().getType() == InputType.Type.RNN || input.indices() > 1;
            featureMasks[i] = masked && sequence ? mask(draw, examples, NetworkAssembly.STEPS) : null;
        }
        INDArray[] labels = new INDArray[outputs.size()];
        INDArray[] labelMasks = new INDArray[outputs.size()];
        for (int i = 0; i < labels.length; i++) {
            InputType type = outputs.get(i).type();
            labels[i] = labels(draw, outputs.get(i).labels(), type, examples);
            boolean sequence = type.getType() == InputType.Type.RNN;
            if (masked && sequence) {
                int steps = (int) ((InputType.InputTypeRecurrent) type).getTimeSeriesLength();
                labelMasks[i] = mask(draw, examples, steps);
            } else if (masked && outputs.get(i).labels().priors() == 0 && isChannelsFirst(type)) {
                labelMasks[i] = maskOfPixels(draw, (InputType.InputTypeConvolutional) type, examples);
            }
        }
        return new Batch(features, labels, featureMasks, labelMasks);
    }

    /** Every example has at least one step. */
    private static INDArray mask(Draw draw, int examples, int steps) {
        INDArray mask = Nd4j.zeros(DataType.FLOAT, examples, steps);
        boolean holes = draw.chance(0.2);
        for (int i = 0; i < examples; i++) {
            int length = draw.between(1, steps);
            for (int t = 0; t < length; t++) {
                mask.putScalar(i, t, t > 0 && holes && draw.chance(0.3) ? 0 : 1);
            }
        }
        return mask;
    }

    private static boolean isChannelsFirst(InputType type) {
        return type instanceof InputType.InputTypeConvolutional images && images.getFormat() == CNN2DFormat.NCHW;
    }

    /** A mask of whole images, for which stock DL4J's CnnLossLayer throws, or of pixels in all channels. */
    private INDArray maskOfPixels(Draw draw, InputType.InputTypeConvolutional type, int examples) {
        INDArray mask = draw.chance(0.3) && !network.names("CnnLossLayer")
                ? draw.whole(0, 1, examples, 1, 1, 1)
                : draw.whole(0, 1, examples, 1, type.getHeight(), type.getWidth());
        // There's nothing to divide by if all are masked.
        mask.putScalar(0, 1);
        return mask;
    }

    static long[] shape(InputType type, long examples) {
        return switch (type.getType()) {
            case FF -> new long[] {examples, ((InputType.InputTypeFeedForward) type).getSize()};
            case CNNFlat -> new long[] {examples, type.arrayElementsPerExample()};
            case RNN -> {
                InputType.InputTypeRecurrent steps = (InputType.InputTypeRecurrent) type;
                yield steps.getFormat() == RNNFormat.NWC
                        ? new long[] {examples, steps.getTimeSeriesLength(), steps.getSize()}
                        : new long[] {examples, steps.getSize(), steps.getTimeSeriesLength()};
            }
            case CNN -> {
                InputType.InputTypeConvolutional image = (InputType.InputTypeConvolutional) type;
                yield image.getFormat() == CNN2DFormat.NHWC
                        ? new long[] {examples, image.getHeight(), image.getWidth(), image.getChannels()}
                        : new long[] {examples, image.getChannels(), image.getHeight(), image.getWidth()};
            }
            case CNN3D -> {
                InputType.InputTypeConvolutional3D volume = (InputType.InputTypeConvolutional3D) type;
                yield volume.getDataFormat() == Convolution3D.DataFormat.NDHWC
                        ? new long[] {
                            examples, volume.getDepth(), volume.getHeight(), volume.getWidth(), volume.getChannels()
                        }
                        : new long[] {
                            examples, volume.getChannels(), volume.getDepth(), volume.getHeight(), volume.getWidth()
                        };
            }
        };
    }

    /** The axis of classes. */
    private static int classes(InputType type, long[] shape) {
        return isChannelsLast(type) ? shape.length - 1 : 1;
    }

    private static boolean isChannelsLast(InputType type) {
        return switch (type.getType()) {
            case RNN -> ((InputType.InputTypeRecurrent) type).getFormat() == RNNFormat.NWC;
            case CNN -> ((InputType.InputTypeConvolutional) type).getFormat() == CNN2DFormat.NHWC;
            case CNN3D -> ((InputType.InputTypeConvolutional3D) type).getDataFormat() == Convolution3D.DataFormat.NDHWC;
            default -> false;
        };
    }

    private static INDArray labels(Draw draw, Labels kind, InputType type, int examples) {
        long[] shape = shape(type, examples);
        return switch (kind) {
            case GAUSSIAN -> draw.gaussian(1, shape);
            case BINARY -> draw.whole(0, 1, shape);
            case SIGNS -> draw.whole(0, 1, shape).muli(2).subi(1);
            case POSITIVE -> draw.uniform(0.1, 2, shape);
            case FAR_FROM_ZERO -> draw.uniform(0.5, 3, shape);
            case BOXES, BOXES_OF_TWO_PRIORS, BOXES_OF_THREE_PRIORS ->
                boxes(draw, kind.priors(), (InputType.InputTypeConvolutional) type, examples);
            case PROBABILITIES -> draw.uniform(0.05, 0.95, shape);
            case ONE_HOT -> oneHot(draw, shape, classes(type, shape));
        };
    }

    /**
     * Labels of Yolo2OutputLayer: upper left and lower right corner in units of the grid, and a class. They are zeros
     * where there's no object.
     */
    private static INDArray boxes(Draw draw, int priors, InputType.InputTypeConvolutional type, int examples) {
        int classes = (int) type.getChannels() / priors - 5;
        INDArray labels = Nd4j.zeros(DataType.FLOAT, examples, 4 + classes, type.getHeight(), type.getWidth());
        for (int i = 0; i < examples; i++) {
            for (int objects = draw.between(1, 3); objects > 0; objects--) {
                double y = draw.real(0, (double) type.getHeight());
                double x = draw.real(0, (double) type.getWidth());
                INDArray cell = labels.get(point(i), all(), point((long) y), point((long) x));
                double left = x - draw.real(0.2, 1);
                double top = y - draw.real(0.2, 1);
                cell.assign(0);
                cell.putScalar(0, left);
                cell.putScalar(1, top);
                cell.putScalar(2, 2 * x - left);
                cell.putScalar(3, 2 * y - top);
                cell.putScalar(4 + draw.between(0, classes - 1), 1);
            }
        }
        return type.getFormat() == CNN2DFormat.NHWC ? labels.permute(0, 2, 3, 1).dup('c') : labels;
    }

    private static INDArray oneHot(Draw draw, long[] shape, int axis) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, shape);
        long[] others = shape.clone();
        others[axis] = 1;
        long count = Arrays.stream(others).reduce(1, (a, b) -> a * b);
        for (long i = 0; i < count; i++) {
            long[] position = new long[shape.length];
            long rest = i;
            for (int a = shape.length - 1; a >= 0; a--) {
                position[a] = rest % others[a];
                rest /= others[a];
            }
            position[axis] = draw.between(0, (int) shape[axis] - 1);
            labels.putScalar(position, 1);
        }
        return labels;
    }

    /** Returns a batch with features or labels that make a step fail. */
    Batch failing(Draw draw) {
        Batch batch = of(draw);
        float value = draw.of(Float.NaN, Float.POSITIVE_INFINITY, Float.NaN);
        // Elsewhere a maximum, or a ReLU in front of the first gradient, may turn such features into ordinary numbers.
        if (!network.multipliesFeatures() || draw.chance(0.5)) {
            for (INDArray labels : batch.labels()) {
                labels.assign(Float.NaN);
            }
        } else {
            for (INDArray features : batch.features()) {
                features.assign(value);
            }
        }
        return batch;
    }
}
