package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Small networks of all kinds of layers train to FP32's loss, and make nothing anew while shapes stay the same. */
class LayerNetworksTest {
    private static final int STEPS = 40;

    /**
     * A network.
     *
     * @param name what it's made of
     * @param inputType of its input
     * @param shape of its input
     * @param layers its layers, the last of which has the loss
     */
    record Kind(String name, InputType inputType, List<Integer> shape, List<Layer> layers) {
        INDArray features() {
            long[] sizes = shape.stream().mapToLong(Integer::longValue).toArray();
            INDArray features = gaussian(new Random(sizes.length), 0.5, sizes);
            for (int i = 0; i < sizes[0]; i++) {
                features.slice(i).addi(i % 3 - 1);
            }
            return features;
        }

        DataSet data() {
            if (layers.get(layers.size() - 1) instanceof CnnLossLayer) {
                return new DataSet(features(), features());
            }
            INDArray labels = Nd4j.create(DataType.FLOAT, shape.get(0), 3);
            for (int i = 0; i < shape.get(0); i++) {
                labels.putScalar(i, i % 3, 1);
            }
            return new DataSet(features(), labels);
        }

        MultiLayerNetwork network() {
            NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                    .seed(11)
                    .updater(new Adam(1e-2))
                    .list();
            layers.forEach(layer -> list.layer(layer.clone()));
            MultiLayerConfiguration configuration = list.setInputType(inputType).build();
            return Networks.init(configuration);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Kind> kinds() {
        return Stream.of(sequences(), volumes(), channelsLast(), separable(), autoencoder());
    }

    private static Layer classes() {
        return Networks.softmax(3);
    }

    private static Kind sequences() {
        List<Layer> layers = List.of(
                new Convolution1DLayer.Builder(3)
                        .nOut(16)
                        .convolutionMode(ConvolutionMode.Causal)
                        .activation(Activation.RELU)
                        .build(),
                new Subsampling1DLayer.Builder(2, 2).build(),
                new Convolution1DLayer.Builder(3)
                        .nOut(12)
                        .convolutionMode(ConvolutionMode.Same)
                        .activation(Activation.SWISH)
                        .build(),
                new GlobalPoolingLayer(PoolingType.AVG),
                classes());
        return new Kind("sequences", InputType.recurrent(4, 12), List.of(8, 4, 12), layers);
    }

    private static Kind volumes() {
        List<Layer> layers = List.of(
                new Convolution3D.Builder(3, 3, 3)
                        .nOut(8)
                        .activation(Activation.RELU)
                        .build(),
                new Subsampling3DLayer.Builder(PoolingType.AVG)
                        .kernelSize(2, 2, 2)
                        .stride(2, 2, 2)
                        .build(),
                new GlobalPoolingLayer(PoolingType.MAX),
                classes());
        return new Kind(
                "volumes",
                InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 6, 6, 6, 2),
                List.of(4, 2, 6, 6, 6),
                layers);
    }

    /** Without bias in front of batch normalization, where only rounding would move it. */
    private static Kind channelsLast() {
        List<Layer> layers = List.of(
                new ConvolutionLayer.Builder(3, 3)
                        .nOut(12)
                        .hasBias(false)
                        .dataFormat(CNN2DFormat.NHWC)
                        .activation(Activation.IDENTITY)
                        .build(),
                new BatchNormalization.Builder().dataFormat(CNN2DFormat.NHWC).build(),
                new ActivationLayer(Activation.RELU),
                new ZeroPaddingLayer.Builder(1, 1).dataFormat(CNN2DFormat.NHWC).build(),
                new ConvolutionLayer.Builder(3, 3)
                        .nOut(8)
                        .dataFormat(CNN2DFormat.NHWC)
                        .activation(Activation.SOFTPLUS)
                        .build(),
                new SubsamplingLayer.Builder(PoolingType.AVG)
                        .kernelSize(3, 3)
                        .stride(2, 2)
                        .dataFormat(CNN2DFormat.NHWC)
                        .build(),
                new GlobalPoolingLayer(PoolingType.AVG),
                classes());
        return new Kind(
                "channelsLast", InputType.convolutional(10, 10, 3, CNN2DFormat.NHWC), List.of(6, 10, 10, 3), layers);
    }

    private static Kind separable() {
        List<Layer> layers = List.of(
                new SeparableConvolution2D.Builder(3, 3)
                        .nOut(12)
                        .activation(Activation.RELU)
                        .build(),
                new LocalResponseNormalization.Builder().build(),
                new DepthwiseConvolution2D.Builder(3, 3)
                        .depthMultiplier(2)
                        .activation(Activation.RELU6)
                        .build(),
                new GlobalPoolingLayer(PoolingType.SUM),
                classes());
        return new Kind("separable", InputType.convolutional(8, 8, 3), List.of(6, 3, 8, 8), layers);
    }

    private static Kind autoencoder() {
        List<Layer> layers = List.of(
                new ConvolutionLayer.Builder(3, 3)
                        .stride(2, 2)
                        .convolutionMode(ConvolutionMode.Same)
                        .nOut(10)
                        .activation(Activation.TANH)
                        .build(),
                new Upsampling2D.Builder(2).build(),
                new ConvolutionLayer.Builder(2, 2)
                        .stride(2, 2)
                        .nOut(10)
                        .activation(Activation.ELU)
                        .build(),
                new Deconvolution2D.Builder(2, 2)
                        .stride(2, 2)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build(),
                new CnnLossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .build());
        return new Kind("autoencoder", InputType.convolutional(8, 8, 2), List.of(4, 2, 8, 8), layers);
    }

    private static double train(MultiLayerNetwork network, DataSet data, int steps) {
        for (int i = 0; i < steps; i++) {
            network.fit(data);
        }
        return network.score(data);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void trainsToFp32sLoss(Kind kind) {
        double untrained = kind.network().score(kind.data());
        double expected = train(kind.network(), kind.data(), STEPS);
        assertTrue(expected < 0.8 * untrained, expected + " after " + untrained);
        for (Precision precision : Types.precisions()) {
            MultiLayerNetwork network = kind.network();
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
                List<PrecisionPlan.Row> beforeTheLoss =
                        amp.plan().rows().subList(0, kind.layers().size() - 1);
                assertTrue(
                        beforeTheLoss.stream()
                                .noneMatch(row -> row.engine().equals("dl4j")
                                        || row.reason().contains("can't")),
                        amp.plan().toString());
                double actual = train(network, kind.data(), STEPS);
                assertEquals(expected, actual, 0.05 * Math.max(expected, 0.1 * untrained), precision.toString());
                assertEquals(0, amp.stepsSkipped());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void makesNothingAnewWhileShapesStayTheSame(Kind kind) {
        for (Precision precision : Types.precisions()) {
            MultiLayerNetwork network = kind.network();
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
                DataSet data = kind.data();
                train(network, data, 3);
                long made = OneDnnContext.made();
                train(network, data, 5);
                assertEquals(made, OneDnnContext.made(), precision + " " + amp.precision());
            }
        }
    }

    private static AmpConfig onOneDnn(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }
}
