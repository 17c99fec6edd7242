package org.dl4jamp.onednn.output;

import java.lang.ref.Reference;
import java.nio.FloatBuffer;
import java.util.Optional;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.dl4jamp.onednn.host.FlatFloats;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Views;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossL2;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossNegativeLogLikelihood;

/**
 * The loss of YOLO9000 (Redmon and Farhadi, 2016), as DL4J's {@link Yolo2OutputLayer} defines it. Arrays are FP32,
 * their channels the second axis and last in memory. Examples are independent of each other, and computed on several
 * threads.
 */
final class BoxLoss {
    /** Numbers of a batch that a single thread computes before another one has woken up. */
    private static final long ALONE = 20_000;

    /** The numbers of a box besides its classes: position, size and confidence. */
    static final int NUMBERS = 5;

    private final Yolo2OutputLayer layer;
    private final int boxes;
    private final float[] priors;

    BoxLoss(Yolo2OutputLayer layer) {
        this.layer = layer;
        this.boxes = (int) layer.getBoundingBoxes().size(0);
        this.priors =
                layer.getBoundingBoxes().castTo(DataType.FLOAT).dup('c').data().asFloat();
    }

    /** Returns why a layer is left to DL4J; empty if it isn't. */
    static Optional<String> without(Yolo2OutputLayer layer) {
        ILossFunction places = layer.getLossPositionScale();
        ILossFunction classes = layer.getLossClassPredictions();
        if (!isSquares(places)) {
            return Optional.of("it has no kernel for " + places + " of the boxes of Yolo2OutputLayer");
        }
        return isSquares(classes) || isEntropy(classes)
                ? Optional.empty()
                : Optional.of("it has no kernel for " + classes + " of the classes of Yolo2OutputLayer");
    }

    // Subclasses may compute anything.
    private static boolean isSquares(ILossFunction loss) {
        return loss.getClass() == LossL2.class && ((LossL2) loss).getWeights() == null;
    }

    private static boolean isEntropy(ILossFunction loss) {
        boolean entropy = loss.getClass() == LossMCXENT.class || loss.getClass() == LossNegativeLogLikelihood.class;
        return entropy && ((LossMCXENT) loss).getWeights() == null;
    }

    /** Returns whether so many channels are those of all boxes, with at least one class. */
    boolean takesChannels(long channels) {
        return channels % boxes == 0 && channels / boxes > NUMBERS;
    }

    /** Returns the channels of labels for input with so many: the corners of a box, and its classes. */
    long channelsOfLabels(long channels) {
        return channels / boxes - NUMBERS + BoxCell.CORNERS;
    }

    /** Makes positions, sizes, confidences and probabilities of sums, in place. */
    void activate(INDArray sums) {
        Grid grid = new Grid(sums);
        forExamples(grid, example -> activate(grid, grid.of(sums, example)), sums);
    }

    private void activate(Grid grid, FloatBuffer example) {
        BoxCell cell = cell(grid);
        for (int at = 0; at < grid.cells(); at++) {
            cell.read(example, at);
            cell.activate();
            cell.write(example, at);
        }
    }

    /**
     * Returns the loss of each example.
     *
     * @param noObject a factor of the losses of boxes without objects, beside their weight
     */
    double[] losses(INDArray sums, INDArray labels, double noObject) {
        return losses(sums, labels, null, noObject * layer.getLambdaNoObj());
    }

    /** Computes the gradient of the sums, and returns the loss of each example. */
    double[] gradient(INDArray sums, INDArray labels, INDArray gradient) {
        return losses(sums, labels, gradient, layer.getLambdaNoObj());
    }

    private double[] losses(INDArray sums, INDArray labels, INDArray gradient, double noObject) {
        Grid grid = new Grid(sums);
        double[] losses = new double[grid.examples()];
        ExamplePass pass = example -> {
            FloatBuffer result = gradient == null ? null : grid.of(gradient, example);
            losses[example] = loss(grid, grid.of(sums, example), grid.of(labels, example), result, noObject);
        };
        forExamples(grid, pass, sums, labels, gradient);
        return losses;
    }

    private double loss(Grid grid, FloatBuffer sums, FloatBuffer labels, FloatBuffer gradient, double noObject) {
        BoxCell cell = cell(grid);
        double loss = 0;
        for (int at = 0; at < grid.cells(); at++) {
            cell.read(sums, at);
            cell.readTruth(labels, at);
            loss += cell.loss(at % grid.width(), at / grid.width(), noObject);
            if (gradient != null) {
                cell.gradient(noObject);
                cell.write(gradient, at);
            }
        }
        return loss;
    }

    private BoxCell cell(Grid grid) {
        ILossFunction classes = layer.getLossClassPredictions();
        double clip = classes instanceof LossMCXENT entropy ? entropy.getSoftmaxClipEps() : 0;
        return new BoxCell(
                priors, (int) grid.channels / boxes - NUMBERS, layer.getLambdaCoord(), isEntropy(classes), clip);
    }

    /** One pass over an example. */
    private interface ExamplePass {
        void run(int example);
    }

    /** @param arrays those of which a pass reads or writes the memory */
    private static void forExamples(Grid grid, ExamplePass pass, INDArray... arrays) {
        try {
            IntStream examples = IntStream.range(0, grid.examples());
            (grid.length <= ALONE ? examples : examples.parallel()).forEach(pass::run);
        } finally {
            Reference.reachabilityFence(arrays);
        }
    }

    /** The extents of an array. */
    private record Grid(int examples, int height, int width, long channels, long length) {
        Grid(INDArray sums) {
            this((int) sums.size(0), (int) sums.size(2), (int) sums.size(3), sums.size(1), sums.length());
        }

        int cells() {
            return height * width;
        }

        /** Returns the numbers of an example, cell by cell. */
        FloatBuffer of(INDArray channelsLast, int example) {
            INDArray dense = Views.permuted(channelsLast, Layout.axesOfChannelsLast(channelsLast.rank()));
            int size = Math.multiplyExact(cells(), (int) channelsLast.size(1));
            return FlatFloats.of(dense).orElseThrow().range((long) example * size, size);
        }
    }
}
