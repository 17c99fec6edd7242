package org.dl4jamp.onednn.pooling;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Gradients of a global pooling's output that have axes of length 1, as stock DL4J takes them. */
class GlobalPoolingShapesTest {
    private static final AmpConfig FLOAT =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();

    private static MultiLayerNetwork network(Layer first, GlobalPoolingLayer pooling, InputType input) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.1))
                .list()
                .layer(first)
                .layer(pooling)
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(3).build())
                .setInputType(input)
                .build());
    }

    /** DL4J puts a preprocessor for sequences behind the pooling, whose gradient has an axis of one step. */
    @ParameterizedTest
    @EnumSource(
            value = PoolingType.class,
            names = {"SUM", "AVG", "MAX", "PNORM"})
    void aPreprocessorForSequencesBehindThePooling(PoolingType type) {
        InputType input = InputType.recurrent(4, 5, RNNFormat.NWC);
        MultiLayerNetwork stock = network(
                new SimpleRnn.Builder().nOut(3).build(),
                new GlobalPoolingLayer.Builder(type).poolingDimensions(1).build(),
                input);
        trainsAlike(stock, gaussian(new Random(1), 1, 2, 5, 4));
    }

    @ParameterizedTest
    @EnumSource(
            value = PoolingType.class,
            names = {"SUM", "AVG", "MAX", "PNORM"})
    void axesThatAreKept(PoolingType type) {
        MultiLayerNetwork stock = network(
                new ConvolutionLayer.Builder(2, 2).nOut(3).build(),
                new GlobalPoolingLayer.Builder(type).collapseDimensions(false).build(),
                InputType.convolutional(4, 5, 2));
        trainsAlike(stock, gaussian(new Random(1), 1, 2, 2, 4, 5));
    }

    private static void trainsAlike(MultiLayerNetwork stock, INDArray features) {
        MultiLayerNetwork network = stock.clone();
        INDArray labels = Nd4j.createFromArray(new float[][] {{1, 0, 0}, {0, 0, 1}});
        stock.fit(new DataSet(features.dup(), labels.dup()));
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            network.fit(new DataSet(features.dup(), labels.dup()));
            assertEquals(1, amp.stepsTaken());
            assertEquals("onednn", amp.plan().row("layer1").engine());
        }
        assertEquals(stock.score(), network.score(), 1e-6);
        assertArrayEquals(stock.params().toDoubleVector(), network.params().toDoubleVector(), 1e-6);
    }
}
