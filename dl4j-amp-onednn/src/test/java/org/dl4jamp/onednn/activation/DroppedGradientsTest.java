package org.dl4jamp.onednn.activation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * DL4J's gradient of a p-norm is NaN where all of its numbers are zero. ReLU made those zeros, and drops that gradient,
 * so that stock DL4J trains: so does mixed precision in FP32, by the same steps.
 */
class DroppedGradientsTest {
    private static final InputType IMAGES = InputType.convolutional(4, 4, 2);

    static Stream<Arguments> networks() {
        InputType volumes = InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 3, 3, 3, 2);
        Layer volume = new Convolution3D.Builder(2, 2, 2)
                .nOut(3)
                .dataFormat(Convolution3D.DataFormat.NCDHW)
                .activation(Activation.RELU)
                .build();
        Layer depthwise = new DepthwiseConvolution2D.Builder(2, 2)
                .depthMultiplier(2)
                .nOut(4)
                .activation(Activation.RELU6)
                .build();
        Layer product = new ConvolutionLayer.Builder(2, 2)
                .nOut(4)
                .activation(Activation.IDENTITY)
                .build();
        Layer recurrent =
                new SimpleRnn.Builder().nOut(6).activation(Activation.RELU).build();
        Layer relu = new ActivationLayer(Activation.RELU);
        return Stream.of(
                Arguments.of("volumes", volumes, List.of(volume, norm())),
                Arguments.of("padding", IMAGES, List.of(depthwise, new ZeroPaddingLayer(1, 1), normOfWindows())),
                Arguments.of("layer", IMAGES, List.of(product, relu, normOfWindows())),
                Arguments.of(
                        "normalization", IMAGES, List.of(product, new BatchNormalization(), relu, normOfWindows())),
                Arguments.of("sequences", InputType.recurrent(2, 3), List.of(recurrent, norm())));
    }

    private static Layer norm() {
        return new GlobalPoolingLayer.Builder(PoolingType.PNORM).pnorm(2).build();
    }

    private static Layer normOfWindows() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.PNORM, new int[] {1, 1}, new int[] {1, 1})
                .pnorm(2)
                .build();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("networks")
    void whatReluDropsDoesntFailAStep(String name, InputType input, List<Layer> layers) {
        List<Layer> all = new ArrayList<>(layers);
        all.add(Networks.softmax(2));
        MultiLayerConfiguration configuration = Networks.builder(new Sgd(0.1))
                .list(all.toArray(Layer[]::new))
                .setInputType(input)
                .build();
        MultiLayerNetwork stock = Networks.init(configuration.clone());
        // A unit that is never positive.
        INDArray weights = stock.getParam("0_W");
        boolean columns = weights.rank() == 2;
        (columns ? weights.getColumn(0) : weights.slice(0)).assign(0);
        stock.getParam("0_b").putScalar(0, -1);
        MultiLayerNetwork net = stock.clone();
        MixedPrecision amp = MixedPrecision.enable(
                net,
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build());
        INDArray features = Networks.uniform(1, features(input));
        INDArray labels = Nd4j.createFromArray(new float[][] {{1, 0}, {0, 1}});
        INDArray before = stock.params().dup();
        for (int step = 0; step < 3; step++) {
            stock.fit(features, labels);
            net.fit(features, labels);
        }
        assertTrue(stock.params().equalsWithEps(net.params(), 1e-5), () -> stock.params() + "\n" + net.params());
        assertTrue(!before.equalsWithEps(stock.params(), 1e-3), "stock DL4J trains");
        assertEquals(stock.score(), net.score(), 1e-4);
        amp.close();
    }

    private static long[] features(InputType type) {
        long[] shape = type.getShape(true);
        shape[0] = 2;
        return shape;
    }
}
