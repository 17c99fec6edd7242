package org.dl4jamp;

import java.util.function.Function;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.distribution.UniformDistribution;
import org.deeplearning4j.nn.conf.dropout.SpatialDropout;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.SpaceToDepthLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.Upsampling3D;
import org.deeplearning4j.nn.conf.layers.ZeroPadding3DLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping3D;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.weights.WeightInitDistribution;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Every layer of DL4J for images and volumes, between two convolutions, against FP32. Batch normalization of volumes
 * isn't among them: DL4J's takes rank 2 and 4 only.
 */
class ConvolutionalLayersTest extends LayerCases {
    private static final DataSet IMAGES = Networks.images(12, 3, 8, 3);

    private static LayerCase between(String name, Layer layer) {
        return new LayerCase(
                name,
                Networks.builder(new Adam(1e-3))
                        .activation(Activation.TANH)
                        .list()
                        .layer(smooth(6))
                        .layer(layer)
                        .layer(smooth(4))
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.convolutional(8, 8, 3))
                        .build(),
                IMAGES,
                layer.getClass(),
                Comparison.Tolerance.HALF);
    }

    private static ConvolutionLayer smooth(int out) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(out)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.TANH)
                .build();
    }

    private static LayerCase beforeTheOutput(String name, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list =
                Networks.builder(new Adam(1e-3)).list().layer(smooth(6));
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return new LayerCase(
                name,
                list.layer(Networks.softmax(3))
                        .setInputType(InputType.convolutional(8, 8, 3))
                        .build(),
                IMAGES,
                layers[0].getClass(),
                Comparison.Tolerance.HALF);
    }

    private static LayerCase pooling(SubsamplingLayer.PoolingType type) {
        return between(
                type + " pooling",
                new SubsamplingLayer.Builder(type)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .pnorm(2)
                        .build());
    }

    static Stream<LayerCase> images() {
        return Stream.of(
                between(
                        "convolution with stride",
                        new ConvolutionLayer.Builder(3, 2).nOut(5).stride(2, 1).build()),
                between(
                        "dilated convolution",
                        new ConvolutionLayer.Builder(3, 3)
                                .nOut(5)
                                .dilation(2, 2)
                                .convolutionMode(ConvolutionMode.Same)
                                .build()),
                between(
                        "convolution with spatial dropout",
                        new ConvolutionLayer.Builder(3, 3)
                                .nOut(5)
                                .dropOut(new SpatialDropout(0.8))
                                .build()),
                between(
                        "deconvolution",
                        new Deconvolution2D.Builder(2, 2).nOut(5).stride(2, 2).build()),
                between(
                        "depthwise convolution",
                        new DepthwiseConvolution2D.Builder(3, 3)
                                .depthMultiplier(2)
                                .nOut(12)
                                .build()),
                between(
                        "separable convolution",
                        new SeparableConvolution2D.Builder(3, 3)
                                .depthMultiplier(2)
                                .nOut(5)
                                .build()),
                between(
                        "locally connected",
                        new LocallyConnected2D.Builder()
                                .kernelSize(3, 3)
                                .stride(3, 3)
                                .nOut(4)
                                .activation(Activation.TANH)
                                .build()),
                pooling(SubsamplingLayer.PoolingType.MAX).coarse(),
                pooling(SubsamplingLayer.PoolingType.AVG),
                pooling(SubsamplingLayer.PoolingType.PNORM),
                between("upsampling", new Upsampling2D.Builder(2).build()),
                between("zero padding", new ZeroPaddingLayer.Builder(1, 2).build()),
                between("cropping", new Cropping2D.Builder(1, 2).build()),
                between("space to depth", new SpaceToDepthLayer.Builder<>(2, CNN2DFormat.NCHW).build()),
                between("local response normalization", new LocalResponseNormalization.Builder().build()),
                between("batch norm", new BatchNormalization.Builder().build()),
                between(
                        "batch norm with fixed gamma",
                        new BatchNormalization.Builder()
                                .lockGammaBeta(true)
                                .gamma(1.5)
                                .beta(0.2)
                                .build()),
                between("activation", new ActivationLayer(Activation.ELU)),
                between(
                        "PReLU",
                        new PReLULayer.Builder()
                                .inputShape(6, 8, 8)
                                .weightInit(new WeightInitDistribution(new UniformDistribution(0.1, 0.4)))
                                .build()),
                between("dropout", new DropoutLayer.Builder(0.7).build()),
                between("spatial dropout", new DropoutLayer.Builder(new SpatialDropout(0.8)).build()),
                between("frozen with backprop", new FrozenLayerWithBackprop(smooth(5))),
                beforeTheOutput("average of the image", new GlobalPoolingLayer(PoolingType.AVG)),
                beforeTheOutput("maximum of the image", new GlobalPoolingLayer(PoolingType.MAX))
                        .coarse(),
                beforeTheOutput("sum of the image", new GlobalPoolingLayer(PoolingType.SUM)),
                beforeTheOutput("norm of the image", new GlobalPoolingLayer(PoolingType.PNORM)),
                beforeTheOutput("flattened", Networks.dense(9, Activation.TANH)));
    }

    static Stream<LayerCase> capsules() {
        return Stream.of(new LayerCase(
                "capsules",
                Networks.builder(new Adam(1e-3))
                        .list()
                        .layer(smooth(6))
                        .layer(new PrimaryCapsules.Builder(4, 2)
                                .kernelSize(3, 3)
                                .stride(2, 2)
                                .build())
                        .layer(new CapsuleLayer.Builder(3, 4, 2).build())
                        .layer(new CapsuleStrengthLayer.Builder().build())
                        .layer(new ActivationLayer(Activation.SOFTMAX))
                        .layer(new LossLayer.Builder(LossFunction.MCXENT)
                                .activation(Activation.IDENTITY)
                                .build())
                        .setInputType(InputType.convolutional(8, 8, 3))
                        .build(),
                IMAGES,
                PrimaryCapsules.class,
                Comparison.Tolerance.HALF));
    }

    // The JSON of a graph of DL4J 1.0.0-M1.1 forgets the data format of volumes.
    private static LayerCase inSpace(String name, Layer layer) {
        Nd4j.getRandom().setSeed(5);
        return new LayerCase(
                        name,
                        Networks.builder(new Adam(1e-3))
                                .activation(Activation.TANH)
                                .list()
                                .layer(convolution3d())
                                .layer(layer)
                                .layer(convolution3d())
                                .layer(Networks.softmax(3))
                                .setInputType(InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 4, 4, 4, 2))
                                .build(),
                        new DataSet(Nd4j.randn(DataType.FLOAT, 6, 2, 4, 4, 4), Networks.oneHot(6, 3)),
                        layer.getClass(),
                        Comparison.Tolerance.HALF)
                .unlessDl4jFails();
    }

    private static Convolution3D convolution3d() {
        return new Convolution3D.Builder(2, 2, 2)
                .nOut(3)
                .convolutionMode(ConvolutionMode.Same)
                .dataFormat(Convolution3D.DataFormat.NCDHW)
                .activation(Activation.TANH)
                .build();
    }

    static Stream<LayerCase> volumes() {
        return Stream.of(
                inSpace("convolution in space", convolution3d()),
                inSpace(
                        "deconvolution in space",
                        new Deconvolution3D.Builder()
                                .kernelSize(2, 2, 2)
                                .nOut(3)
                                .stride(2, 2, 2)
                                .dataFormat(Convolution3D.DataFormat.NCDHW)
                                .activation(Activation.TANH)
                                .build()),
                inSpace(
                        "average pooling in space",
                        new Subsampling3DLayer.Builder(PoolingType.AVG)
                                .kernelSize(2, 2, 2)
                                .stride(2, 2, 2)
                                .dataFormat(Convolution3D.DataFormat.NCDHW)
                                .build()),
                inSpace(
                                "maximum pooling in space",
                                new Subsampling3DLayer.Builder(PoolingType.MAX)
                                        .kernelSize(2, 2, 2)
                                        .stride(2, 2, 2)
                                        .dataFormat(Convolution3D.DataFormat.NCDHW)
                                        .build())
                        .coarse(),
                inSpace("upsampling in space", new Upsampling3D.Builder(2).build()),
                inSpace("zero padding in space", new ZeroPadding3DLayer.Builder(1, 1, 1).build()),
                inSpace("cropping in space", new Cropping3D.Builder(1, 1, 1).build()));
    }

    static Stream<LayerCase> all() {
        return Stream.of(images(), capsules(), volumes()).flatMap(Function.identity());
    }

    static Stream<LayerCase> inBfloat16() {
        return images();
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("all")
    @Override
    void runsInAGraph(LayerCase layer) {
        super.runsInAGraph(layer);
    }
}
