package org.dl4jamp.engine.nd4j;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A two-dimensional convolution by its formula, term by term, with bounds for its errors. */
final class ConvolutionReference {
    private final INDArray input;
    private final INDArray weights;
    private final int[] kernel;
    private final int[] stride;
    private final int[] dilation;
    private final int[] padding;
    private final boolean half;
    private final int minibatch;
    private final int nOut;
    private final int outHeight;
    private final int outWidth;
    private final Bounded[][][][] output;
    private final Bounded[][][][] delta;
    private final Bounded[][][][] factor;

    ConvolutionReference(
            ConvolutionLayer conf,
            org.deeplearning4j.nn.api.Layer layer,
            INDArray input,
            INDArray epsilon,
            boolean half) {
        this.input = input;
        this.weights = layer.getParam("W");
        this.kernel = conf.getKernelSize();
        this.stride = conf.getStride();
        this.dilation = conf.getDilation();
        this.half = half;
        this.minibatch = (int) epsilon.size(0);
        this.nOut = (int) epsilon.size(1);
        this.outHeight = (int) epsilon.size(2);
        this.outWidth = (int) epsilon.size(3);
        this.padding = conf.getConvolutionMode() == ConvolutionMode.Same
                ? new int[] {topLeft(0, outHeight, (int) input.size(2)), topLeft(1, outWidth, (int) input.size(3))}
                : conf.getPadding();
        Curve activation = Curve.of(conf.getActivationFn());
        output = new Bounded[minibatch][nOut][outHeight][outWidth];
        delta = new Bounded[minibatch][nOut][outHeight][outWidth];
        factor = new Bounded[minibatch][nOut][outHeight][outWidth];
        for (int n = 0; n < minibatch; n++) {
            for (int o = 0; o < nOut; o++) {
                for (int y = 0; y < outHeight; y++) {
                    for (int x = 0; x < outWidth; x++) {
                        Bounded z = beforeActivation(layer.getParam("b"), n, o, y, x);
                        output[n][o][y][x] = rounded(activation.at(z));
                        delta[n][o][y][x] = activation.slopeAt(z).times(Bounded.exact(epsilon.getDouble(n, o, y, x)));
                        factor[n][o][y][x] = rounded(delta[n][o][y][x]);
                    }
                }
            }
        }
    }

    /** As TensorFlow pads: the smaller half in front. */
    private int topLeft(int axis, int out, int in) {
        int covered = (out - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
        return Math.max(0, covered - in) / 2;
    }

    private Bounded rounded(Bounded number) {
        return half ? number.toHalf() : number;
    }

    private Bounded beforeActivation(INDArray bias, int n, int o, int y, int x) {
        List<Bounded> left = new ArrayList<>();
        List<Bounded> right = new ArrayList<>();
        for (int c = 0; c < input.size(1); c++) {
            for (int i = 0; i < kernel[0]; i++) {
                for (int j = 0; j < kernel[1]; j++) {
                    left.add(pixel(n, c, y, x, i, j));
                    right.add(Bounded.exact(weights.getDouble(o, c, i, j)));
                }
            }
        }
        Bounded z = Bounded.dot(left, right);
        return bias == null ? z : z.plus(Bounded.exact(bias.getDouble(o)));
    }

    private Bounded pixel(int n, int c, int y, int x, int i, int j) {
        int row = y * stride[0] - padding[0] + i * dilation[0];
        int column = x * stride[1] - padding[1] + j * dilation[1];
        boolean inside = row >= 0 && column >= 0 && row < input.size(2) && column < input.size(3);
        return inside ? Bounded.exact(input.getDouble(n, c, row, column)) : Bounded.ZERO;
    }

    Bounded output(int... at) {
        return output[at[0]][at[1]][at[2]][at[3]];
    }

    /** At {@code [nOut, nIn, kernelHeight, kernelWidth]}. */
    Bounded weightGradient(int... at) {
        List<Bounded> left = new ArrayList<>();
        List<Bounded> right = new ArrayList<>();
        for (int n = 0; n < minibatch; n++) {
            for (int y = 0; y < outHeight; y++) {
                for (int x = 0; x < outWidth; x++) {
                    left.add(factor[n][at[0]][y][x]);
                    right.add(pixel(n, at[1], y, x, at[2], at[3]));
                }
            }
        }
        return Bounded.dot(left, right);
    }

    Bounded biasGradient(int... at) {
        List<Bounded> terms = new ArrayList<>();
        for (int n = 0; n < minibatch; n++) {
            for (int y = 0; y < outHeight; y++) {
                terms.addAll(List.of(delta[n][at[0]][y]));
            }
        }
        return Bounded.sum(terms);
    }

    /** At {@code [minibatch, nIn, height, width]}: all outputs that this pixel took part in. */
    Bounded inputGradient(int... at) {
        List<Bounded> left = new ArrayList<>();
        List<Bounded> right = new ArrayList<>();
        for (int o = 0; o < nOut; o++) {
            for (int i = 0; i < kernel[0]; i++) {
                for (int j = 0; j < kernel[1]; j++) {
                    int y = at[2] + padding[0] - i * dilation[0];
                    int x = at[3] + padding[1] - j * dilation[1];
                    boolean onGrid = y >= 0 && x >= 0 && y % stride[0] == 0 && x % stride[1] == 0;
                    if (onGrid && y / stride[0] < outHeight && x / stride[1] < outWidth) {
                        left.add(factor[at[0]][o][y / stride[0]][x / stride[1]]);
                        right.add(Bounded.exact(weights.getDouble(o, at[1], i, j)));
                    }
                }
            }
        }
        return rounded(Bounded.dot(left, right));
    }
}
