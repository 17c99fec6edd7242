package org.dl4jamp.benchmarks.dl4j;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.dl4jamp.benchmarks.blueprint.Window;

/** The windows of DL4J's convolutions and poolings. */
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
        Window.Padding around =
                mode == ConvolutionMode.Same ? same(name, kernel, stride) : Window.Padding.even(padding[0], padding[1]);
        return new Window(kernel[0], kernel[1], stride[0], stride[1], around);
    }

    /** Returns the padding of the mode Same, of which the larger part is below and on the right. */
    private static Window.Padding same(String name, int[] kernel, int[] stride) {
        if (stride[0] == 1 && stride[1] == 1) {
            int y = kernel[0] - 1;
            int x = kernel[1] - 1;
            return new Window.Padding(y / 2, x / 2, y - y / 2, x - x / 2);
        }
        if (kernel[0] != stride[0] || kernel[1] != stride[1]) {
            throw new IllegalArgumentException("a blueprint's padding is the same for images of all sizes, and that of"
                    + " the mode Same of layer " + name + " isn't, with strides");
        }
        return Window.Padding.NONE;
    }
}
