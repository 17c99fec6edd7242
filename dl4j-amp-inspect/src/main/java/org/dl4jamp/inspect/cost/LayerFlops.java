package org.dl4jamp.inspect.cost;

import java.util.Arrays;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AbstractLSTM;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.SpaceToBatchLayer;
import org.deeplearning4j.nn.conf.layers.SpaceToDepthLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling1D;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.Upsampling3D;
import org.deeplearning4j.nn.conf.layers.ZeroPadding1DLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPadding3DLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping1D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping3D;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.RepeatVector;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.util.MaskLayer;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.dl4jamp.policy.LayerTable;

/** The formulas of layers, for one example. */
final class LayerFlops {
    /** Layers without arithmetic of their own. */
    private static final Set<Class<?>> NONE = Set.of(
            ActivationLayer.class,
            DropoutLayer.class,
            MaskLayer.class,
            LossLayer.class,
            CnnLossLayer.class,
            Cnn3DLossLayer.class,
            RnnLossLayer.class,
            Yolo2OutputLayer.class,
            Cropping1D.class,
            Cropping2D.class,
            Cropping3D.class,
            ZeroPadding1DLayer.class,
            ZeroPaddingLayer.class,
            ZeroPadding3DLayer.class,
            Upsampling1D.class,
            Upsampling2D.class,
            Upsampling3D.class,
            SpaceToBatchLayer.class,
            SpaceToDepthLayer.class,
            RepeatVector.class);

    private LayerFlops() {}

    static OptionalLong of(Layer layer, Shape in, Shape out) {
        // A subclass of a user's may compute something else.
        if (!LayerTable.lists(layer.getClass())) {
            return OptionalLong.empty();
        }
        if (layer instanceof FrozenLayer frozen) {
            return of(frozen.getLayer(), in, out);
        }
        if (layer instanceof BaseWrapperLayer wrapper) {
            return of(wrapper.getUnderlying(), in, Shapes.behind(wrapper.getUnderlying(), in));
        }
        if (layer instanceof Bidirectional bidirectional) {
            return bidirectional(bidirectional, in);
        }
        if (layer instanceof ConvolutionLayer convolution) {
            return OptionalLong.of(convolution(convolution, in, out));
        }
        if (NONE.contains(layer.getClass())) {
            return OptionalLong.of(0);
        }
        OptionalLong products = products(layer, in, out);
        OptionalLong composed = products.isPresent() ? products : ComposedFlops.of(layer, in, out);
        return composed.isPresent() ? composed : valueByValue(layer, in, out);
    }

    private static OptionalLong bidirectional(Bidirectional layer, Shape in) {
        Shape out = Shapes.behind(layer.getFwd(), in);
        OptionalLong one = of(layer.getFwd(), in, out);
        long both =
                switch (layer.getMode()) {
                    case CONCAT -> 0;
                    case ADD, MUL -> 1;
                    case AVERAGE -> 2;
                };
        return one.isPresent() ? OptionalLong.of(2 * one.getAsLong() + both * out.elements()) : one;
    }

    private static OptionalLong products(Layer layer, Shape in, Shape out) {
        if (layer instanceof DenseLayer dense) {
            long norm = dense.hasLayerNorm() ? 2 * in.positions() * dense.getNOut() : 0;
            return dense(in.positions(), dense.getNIn(), dense.getNOut(), dense.hasBias(), norm);
        }
        if (layer instanceof VariationalAutoencoder encoder) {
            return OptionalLong.of(encoder(encoder, in.positions()));
        }
        if (layer instanceof OCNNOutputLayer one) {
            return OptionalLong.of(2 * in.positions() * one.getHiddenSize() * (one.getNIn() + 1));
        }
        if (layer instanceof AutoEncoder encoder) {
            return dense(in.positions(), encoder.getNIn(), encoder.getNOut(), true, 0);
        }
        boolean output = layer instanceof OutputLayer
                || layer instanceof RnnOutputLayer
                || layer instanceof CenterLossOutputLayer;
        if (output) {
            BaseOutputLayer last = (BaseOutputLayer) layer;
            return dense(in.positions(), last.getNIn(), last.getNOut(), last.hasBias(), 0);
        }
        if (layer instanceof AbstractLSTM || layer instanceof GravesBidirectionalLSTM || layer instanceof SimpleRnn) {
            return OptionalLong.of(recurrent((FeedForwardLayer) layer, in));
        }
        if (layer instanceof LocallyConnected2D local) {
            return windows(out, local.getNIn() * product(local.getKernel()), local.isHasBias());
        }
        if (layer instanceof LocallyConnected1D local) {
            return windows(out, local.getNIn() * local.getKernel(), local.isHasBias());
        }
        return OptionalLong.empty();
    }

    private static OptionalLong valueByValue(Layer layer, Shape in, Shape out) {
        // One multiplication and one addition: mean and variance are folded into them.
        if (layer instanceof BatchNormalization || layer instanceof ElementWiseMultiplicationLayer) {
            return OptionalLong.of(2 * out.elements());
        }
        if (layer instanceof LocalResponseNormalization norm) {
            // A square, sums over channels, a factor, an addition and a product; the power is a function.
            return OptionalLong.of(out.elements() * ((long) norm.getN() + 4));
        }
        if (layer instanceof PReLULayer) {
            return OptionalLong.of(out.elements());
        }
        if (layer instanceof EmbeddingLayer table) {
            return OptionalLong.of(table.hasBias() ? out.elements() : 0);
        }
        if (layer instanceof EmbeddingSequenceLayer table) {
            return OptionalLong.of(table.hasBias() ? out.elements() : 0);
        }
        if (layer instanceof SubsamplingLayer pooling) {
            // In one dimension the kernel has a second size of 1.
            return pooled(pooling.getPoolingType(), out.elements() * kernel(pooling, out));
        }
        if (layer instanceof Subsampling3DLayer pooling) {
            return pooled(pooling.getPoolingType(), out.elements() * product(pooling.getKernelSize()));
        }
        return layer instanceof GlobalPoolingLayer pooling
                ? pooled(pooling.getPoolingType(), in.elements())
                : OptionalLong.empty();
    }

    private static OptionalLong pooled(PoolingType type, long values) {
        // Powers and their sums; the root is a function.
        return OptionalLong.of(type == PoolingType.PNORM ? 2 * values : values);
    }

    private static long kernel(SubsamplingLayer pooling, Shape out) {
        boolean sequence = out.type().getType() == InputType.Type.RNN;
        return sequence ? pooling.getKernelSize()[0] : product(pooling.getKernelSize());
    }

    /** Returns the operations of the layers that lead to the means of the hidden state, which are the output. */
    private static long encoder(VariationalAutoencoder layer, long rows) {
        long operations = 0;
        long nIn = layer.getNIn();
        for (long nOut : LongStream.concat(
                        IntStream.of(layer.getEncoderLayerSizes()).asLongStream(), LongStream.of(layer.getNOut()))
                .toArray()) {
            operations += rows * nOut * (2 * nIn + 1);
            nIn = nOut;
        }
        return operations;
    }

    private static OptionalLong dense(long positions, long nIn, long nOut, boolean bias, long more) {
        return OptionalLong.of(positions * nOut * (2 * nIn + (bias ? 1 : 0)) + more);
    }

    /** Returns the operations of sums over windows, one for each output value. */
    private static OptionalLong windows(Shape out, long window, boolean bias) {
        return OptionalLong.of(out.elements() * (2 * window + (bias ? 1 : 0)));
    }

    private static long convolution(ConvolutionLayer layer, Shape in, Shape out) {
        long kernel = layer.getKernelSize().length == 0 ? 1 : product(layer.getKernelSize());
        if (in.type().getType() == InputType.Type.RNN) {
            kernel = layer.getKernelSize()[0];
        }
        long bias = layer.hasBias() ? out.elements() : 0;
        if (layer instanceof Deconvolution2D || layer instanceof Deconvolution3D) {
            // Each input value is multiplied with the kernel of each output channel.
            return 2 * in.elements() * kernel * layer.getNOut() + bias;
        }
        if (layer instanceof DepthwiseConvolution2D) {
            return 2 * out.elements() * kernel + bias;
        }
        if (layer instanceof SeparableConvolution2D separable) {
            long channels = separable.getNIn() * separable.getDepthMultiplier();
            return 2 * out.positions() * channels * (kernel + separable.getNOut()) + bias;
        }
        return 2 * out.elements() * kernel * layer.getNIn() + bias;
    }

    private static long recurrent(FeedForwardLayer layer, Shape in) {
        long nIn = layer.getNIn();
        long nOut = layer.getNOut();
        long gate = nOut * (2 * (nIn + nOut) + 1);
        if (layer instanceof SimpleRnn) {
            return in.positions() * gate;
        }
        // State: two products and their sum; output: a product. Peepholes: a product and a sum for three gates.
        long peepholes = layer instanceof GravesLSTM || layer instanceof GravesBidirectionalLSTM ? 6 * nOut : 0;
        long one = in.positions() * (4 * gate + 4 * nOut + peepholes);
        // Two directions, whose outputs are added.
        return layer instanceof GravesBidirectionalLSTM ? 2 * one + in.positions() * nOut : one;
    }

    private static long product(int... sizes) {
        return Arrays.stream(sizes).asLongStream().reduce(1, (a, b) -> a * b);
    }
}
