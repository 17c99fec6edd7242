package org.dl4jamp.onednn.output;

import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * One cell of the grid: the boxes that a network predicts there, and an object that may be there in truth. Numbers are
 * FP32 where they come from memory and go to it, and double in between.
 *
 * <p>The box whose intersection over union (IOU) with the object is largest answers for it. Losses of other boxes count
 * zero times, so that those that aren't finite make the sum NaN, as in DL4J.
 */
final class BoxCell {
    /** The corners of an object, in units of the grid: left, top, right, bottom. Its classes follow. */
    static final int CORNERS = 4;

    private static final int NUMBERS = BoxLoss.NUMBERS;

    private final float[] priors;
    private final int classes;
    private final double weightOfPlace;
    private final boolean entropy;
    private final double clip;
    private final float[] numbers;
    private final float[] truth;
    private final double[] probabilities;
    private final Overlap overlap = new Overlap();
    private final double[] iou;
    private int responsible;
    /** Zero, or NaN if the classes of the object aren't numbers. */
    private double zero;

    /**
     * @param priors width and height of each box
     * @param weightOfPlace that of losses of position and size
     * @param entropy whether the loss of classes is cross entropy, and not the sum of squares
     * @param clip the smallest probability that cross entropy counts
     */
    BoxCell(float[] priors, int classes, double weightOfPlace, boolean entropy, double clip) {
        this.priors = priors;
        this.classes = classes;
        this.weightOfPlace = weightOfPlace;
        this.entropy = entropy;
        this.clip = clip;
        this.iou = new double[priors.length / 2];
        this.numbers = new float[iou.length * (NUMBERS + classes)];
        this.truth = new float[CORNERS + classes];
        this.probabilities = new double[classes];
    }

    /** Reads the sums of a cell from those of all cells. */
    void read(FloatBuffer all, int cell) {
        all.get(cell * numbers.length, numbers);
    }

    void readTruth(FloatBuffer all, int cell) {
        all.get(cell * truth.length, truth);
    }

    /** Writes what has been made of the sums. */
    void write(FloatBuffer all, int cell) {
        all.put(cell * numbers.length, numbers);
    }

    private int first(int box) {
        return box * (NUMBERS + classes);
    }

    /** Makes positions, sizes, confidences and probabilities of the sums. */
    void activate() {
        for (int box = 0; box < iou.length; box++) {
            int at = first(box);
            softmax(at + NUMBERS);
            numbers[at] = (float) sigmoid(numbers[at]);
            numbers[at + 1] = (float) sigmoid(numbers[at + 1]);
            numbers[at + 2] = size(box, 0);
            numbers[at + 3] = size(box, 1);
            numbers[at + 4] = (float) sigmoid(numbers[at + 4]);
            for (int i = 0; i < classes; i++) {
                numbers[at + NUMBERS + i] = (float) probabilities[i];
            }
        }
    }

    private static double sigmoid(double sum) {
        return 1 / (1 + Math.exp(-sum));
    }

    /** Returns width or height, which overflow as FP32. */
    private float size(int box, int axis) {
        return (float) (priors[2 * box + axis] * Math.exp(numbers[first(box) + 2 + axis]));
    }

    private double largest(int start) {
        double largest = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < classes; i++) {
            largest = Math.max(largest, numbers[start + i]);
        }
        return largest;
    }

    private void softmax(int start) {
        double largest = largest(start);
        double sum = 0;
        for (int i = 0; i < classes; i++) {
            probabilities[i] = Math.exp(numbers[start + i] - largest);
            sum += probabilities[i];
        }
        for (int i = 0; i < classes; i++) {
            probabilities[i] /= sum;
        }
    }

    /**
     * Returns the loss of all boxes.
     *
     * @param noObject the weight of boxes that don't answer for an object
     */
    double loss(int column, int row, double noObject) {
        findResponsible(column, row);
        double loss = 0;
        for (int box = 0; box < iou.length; box++) {
            int counts = box == responsible ? 1 : 0;
            double error = counts * iou[box] - sigmoid(numbers[first(box) + 4]);
            double places = lossOfPlace(box, 0) + lossOfPlace(box, 1);
            loss += counts * weightOfPlace * places
                    + (counts + (1 - counts) * noObject) * error * error
                    + (counts == 1 ? lossOfClasses(box) : nothing(box));
        }
        return loss;
    }

    /** Finds the box that answers for the object, the first of several; -1 if there is no object. */
    private void findResponsible(int column, int row) {
        float objects = 0;
        for (int i = 0; i < classes; i++) {
            objects += truth[CORNERS + i];
        }
        zero = 0 * objects;
        responsible = objects == 0 ? -1 : 0;
        for (int box = 0; box < iou.length; box++) {
            iou[box] = objects == 0 ? 0 : overlap.of(this, box, column, row, objects);
            if (responsible >= 0 && iou[box] > iou[responsible]) {
                responsible = box;
            }
        }
        if (responsible >= 0) {
            overlap.of(this, responsible, column, row, objects);
        }
    }

    /** Returns the squared errors of the position and of the square root of the size, along one axis. */
    private double lossOfPlace(int box, int axis) {
        double position = center(axis) - sigmoid(numbers[first(box) + axis]);
        double root = Math.sqrt(extent(axis)) - Math.sqrt(size(box, axis));
        return position * position + root * root;
    }

    /** Returns the place of the object's centre in its cell. */
    private double center(int axis) {
        double center = 0.5 * (truth[axis] + truth[axis + 2]);
        return center - Math.floor(center);
    }

    private double extent(int axis) {
        return truth[axis + 2] - truth[axis];
    }

    /** Returns what classes count that don't: zero, or NaN where their softmax is. */
    private double nothing(int box) {
        return 0 * largest(first(box) + NUMBERS) + zero;
    }

    private double lossOfClasses(int box) {
        softmax(first(box) + NUMBERS);
        double loss = 0;
        for (int i = 0; i < classes; i++) {
            double target = truth[CORNERS + i];
            double p = probabilities[i];
            loss += entropy ? -target * Math.log(clipped(p)) : (target - p) * (target - p);
        }
        return loss;
    }

    private double clipped(double p) {
        return clip > 0 ? Math.min(Math.max(p, clip), 1 - clip) : p;
    }

    /**
     * Makes the gradients of the sums, after the loss.
     *
     * @param noObject the weight of boxes that don't answer for an object
     */
    void gradient(double noObject) {
        for (int box = 0; box < iou.length; box++) {
            int counts = box == responsible ? 1 : 0;
            int at = first(box);
            gradientOfClasses(box, counts == 1);
            double confidence = sigmoid(numbers[at + 4]);
            double byIou = counts * 2 * (iou[box] - confidence);
            for (int axis = 0; axis < 2; axis++) {
                double position = sigmoid(numbers[at + axis]);
                double size = size(box, axis);
                double root = Math.sqrt(size);
                double ofPosition = counts * 2 * weightOfPlace * (position - center(axis));
                double ofSize = counts * weightOfPlace * (root - Math.sqrt(extent(axis))) / root;
                double iouByPosition = counts == 1 ? overlap.byPosition[axis] : 0;
                double iouBySize = counts == 1 ? overlap.bySize[axis] : 0;
                numbers[at + axis] = (float) ((ofPosition + iouByPosition * byIou) * position * (1 - position));
                numbers[at + 2 + axis] = (float) ((ofSize + iouBySize * byIou) * size);
            }
            double error = confidence - counts * iou[box];
            numbers[at + 4] = (float) ((counts + (1 - counts) * noObject) * 2 * error * confidence * (1 - confidence));
        }
    }

    private void gradientOfClasses(int box, boolean counts) {
        int start = first(box) + NUMBERS;
        if (!counts) {
            Arrays.fill(numbers, start, start + classes, (float) nothing(box));
            return;
        }
        softmax(start);
        double sum = 0;
        for (int i = 0; i < classes; i++) {
            sum += 2 * (probabilities[i] - truth[CORNERS + i]) * probabilities[i];
        }
        for (int i = 0; i < classes; i++) {
            double error = probabilities[i] - truth[CORNERS + i];
            numbers[start + i] = (float) (entropy ? error : (2 * error - sum) * probabilities[i]);
        }
    }

    /** The intersection over union of a box and the object, and its derivatives. */
    private static final class Overlap {
        private final double[] byPosition = new double[2];
        private final double[] bySize = new double[2];
        private final double[] sizes = new double[2];
        private final double[] common = new double[2];
        private final double[] byFirst = new double[2];
        private final double[] byLast = new double[2];

        /** @param objects the sum of the object's classes, by which DL4J multiplies */
        double of(BoxCell cell, int box, int column, int row, double objects) {
            boolean meets = true;
            for (int axis = 0; axis < 2; axis++) {
                double center = sigmoid(cell.numbers[cell.first(box) + axis]) + (axis == 0 ? column : row);
                sizes[axis] = cell.size(box, axis);
                double first = center - sizes[axis] / 2;
                double last = center + sizes[axis] / 2;
                double firstOfObject = cell.truth[axis];
                double lastOfObject = cell.truth[axis + 2];
                common[axis] = Math.min(last, lastOfObject) - Math.max(first, firstOfObject);
                meets &= !(last <= firstOfObject || first >= lastOfObject);
                byFirst[axis] = first > firstOfObject ? 1 : 0;
                byLast[axis] = last < lastOfObject ? 1 : 0;
            }
            double masked = meets ? 1 : 0;
            double intersection = masked * objects * common[0] * common[1];
            double union = masked * (objects * sizes[0] * sizes[1] + cell.extent(0) * cell.extent(1) - intersection);
            for (int axis = 0; axis < 2; axis++) {
                double other = common[1 - axis];
                double squared = union * union;
                byPosition[axis] =
                        (byLast[axis] - byFirst[axis]) * other * numberOrZero((union + intersection) / squared);
                bySize[axis] = numberOrZero(((byLast[axis] + byFirst[axis]) / 2 * other * (union + intersection)
                                - sizes[1 - axis] * intersection)
                        / squared);
            }
            return numberOrZero(intersection / union) * objects;
        }

        private static double numberOrZero(double value) {
            return Double.isNaN(value) ? 0 : value;
        }
    }
}
