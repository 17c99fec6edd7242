package org.dl4jamp.benchmarks.dl4j;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.dl4jamp.benchmarks.blueprint.Window;

/** The windows of DL4J's convolutions and poolings, which blueprints pad alike on both sides. */
final class Windows {
    private Windows() {}

    /** Returns that of a convolution. */
    static Window of(String name, ConvolutionLayer layer) {
        return window(name, layer.getKernelSize(), layer.getStride(), layer.getPadding(), layer.getConvolutionMode());
    }

    /** Returns that of a pooling. */
    static Window of(String name, SubsamplingLayer layer) {
        return window(name, layer.getKernelSize(), layer.getStride(), layer.getPadding(), layer.getConvolutionMode());
    }

    /** Returns whether a convolution of sequences is a product on each step. */
    static boolean isOneStep(Convolution1DLayer layer) {
        return layer.getKernelSize()[0] == 1 && layer.getStride()[0] == 1 && layer.getPadding()[0] == 0;
    }

    private static Window window(String name, int[] kernel, int[] stride, int[] padding, ConvolutionMode mode) {
        if (mode == ConvolutionMode.Same) {
            boolean centred = kernel[0] % 2 == 1 && kernel[1] % 2 == 1 && stride[0] == 1 && stride[1] == 1;
            boolean gapless = kernel[0] == stride[0] && kernel[1] == stride[1];
            if (!centred && !gapless) {
                throw new IllegalArgumentException(
                        "a blueprint pads both sides alike, and the mode Same of layer " + name + " may not");
            }
            int[] around = centred ? new int[] {kernel[0] / 2, kernel[1] / 2} : new int[] {0, 0};
            return new Window(kernel[0], kernel[1], stride[0], stride[1], around[0], around[1]);
        }
        return new Window(kernel[0], kernel[1], stride[0], stride[1], padding[0], padding[1]);
    }
}
