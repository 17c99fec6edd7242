package org.dl4jamp.layer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Configs;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** By what the loss scale is divided: examples times time steps or positions, whatever the labels look like. */
class LossTermsTest {
    private static final double SCALE = 1024;

    private record Case(
            String name, Layer hidden, Layer output, InputType type, INDArray features, INDArray labels, double terms) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static INDArray zeros(long... shape) {
        return Nd4j.zeros(DataType.FLOAT, shape);
    }

    private static RnnOutputLayer rnnOutput(LossFunction loss) {
        return new RnnOutputLayer.Builder(loss)
                .nOut(50)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static BaseLayer lstm(RNNFormat format) {
        return new LSTM.Builder().nOut(7).dataFormat(format).build();
    }

    private static Case images(CNN2DFormat format, INDArray features, INDArray labels) {
        return new Case(
                "CnnLossLayer in " + format,
                new ConvolutionLayer.Builder(1, 1).nOut(5).dataFormat(format).build(),
                new CnnLossLayer.Builder(LossFunction.MSE).format(format).build(),
                InputType.convolutional(8, 6, 3, format),
                features,
                labels,
                2 * 8 * 6);
    }

    private static Case volumes(Convolution3D.DataFormat format, INDArray features, INDArray labels) {
        return new Case(
                "Cnn3DLossLayer in " + format,
                new Convolution3D.Builder(1, 1, 1).nOut(5).dataFormat(format).build(),
                new Cnn3DLossLayer.Builder(format)
                        .lossFunction(LossFunction.MSE)
                        .build(),
                InputType.convolutional3D(format, 2, 3, 4, 3),
                features,
                labels,
                2 * 2 * 3 * 4);
    }

    private static Stream<Case> cases() {
        return Stream.of(
                new Case(
                        "OutputLayer",
                        Networks.dense(7, Activation.TANH),
                        Networks.regression(50),
                        InputType.feedForward(3),
                        zeros(9, 3),
                        zeros(9, 50),
                        9),
                new Case(
                        "sparse labels",
                        lstm(RNNFormat.NCW),
                        rnnOutput(LossFunction.SPARSE_MCXENT),
                        InputType.recurrent(3),
                        zeros(4, 3, 8),
                        zeros(4, 1, 8),
                        32),
                new Case(
                        "labels in one-hot form",
                        lstm(RNNFormat.NCW),
                        rnnOutput(LossFunction.MCXENT),
                        InputType.recurrent(3),
                        zeros(4, 3, 8),
                        zeros(4, 50, 8),
                        32),
                new Case(
                        "RnnLossLayer in NCW",
                        lstm(RNNFormat.NCW),
                        new RnnLossLayer.Builder(LossFunction.MSE)
                                .dataFormat(RNNFormat.NCW)
                                .build(),
                        InputType.recurrent(3, RNNFormat.NCW),
                        zeros(4, 3, 8),
                        zeros(4, 7, 8),
                        32),
                images(CNN2DFormat.NCHW, zeros(2, 3, 8, 6), zeros(2, 5, 8, 6)),
                images(CNN2DFormat.NHWC, zeros(2, 8, 6, 3), zeros(2, 8, 6, 5)),
                volumes(Convolution3D.DataFormat.NCDHW, zeros(2, 3, 2, 3, 4), zeros(2, 5, 2, 3, 4)),
                volumes(Convolution3D.DataFormat.NDHWC, zeros(2, 2, 3, 4, 3), zeros(2, 2, 3, 4, 5)));
    }

    /** DL4J 1.0.0-M2.1 can't train it: it takes the loss of labels in the other order. */
    @Test
    void thoseOfSequencesWithFeaturesLastAreTimeSteps() {
        RnnLossLayer loss = new RnnLossLayer.Builder(LossFunction.MSE)
                .dataFormat(RNNFormat.NWC)
                .build();
        assertEquals(32, LossScalingLayer.lossTerms(loss, Nd4j.zeros(DataType.FLOAT, 4, 8, 3)));
        loss.setRnnDataFormat(RNNFormat.NCW);
        assertEquals(12, LossScalingLayer.lossTerms(loss, Nd4j.zeros(DataType.FLOAT, 4, 8, 3)));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void theScaleIsDividedByThem(Case one) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-3))
                .list()
                .layer(one.hidden)
                .layer(one.output)
                .setInputType(one.type)
                .build());
        MixedPrecision amp = MixedPrecision.enable(network, Configs.half(new StaticLossScaler(SCALE)));
        network.fit(new DataSet(one.features, one.labels));
        assertEquals(1, amp.stepsTaken());
        LossScalingLayer output = (LossScalingLayer) StandIn.behind(network.getLayers()[1]);
        double powerOfTwo = Math.pow(2, Math.ceil(Math.log(one.terms) / Math.log(2)));
        assertEquals(SCALE / powerOfTwo, output.gradientScale().factor());
    }
}
