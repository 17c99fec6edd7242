package org.dl4jamp.examples.feature;

import java.util.List;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.examples.digits.Digits;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The task of most examples: networks that read handwritten digits. Ordinary DL4J, without mixed precision. */
final class DigitsTask {
    private static final int TEST_IMAGES = 450;
    private static final Digits ALL = Digits.load().shuffled(1);

    private DigitsTask() {}

    /** Returns 1,347 images in batches. */
    static List<DataSet> batches(int size) {
        return ALL.range(0, ALL.size() - TEST_IMAGES).batches(size);
    }

    static DataSetIterator iterator(int batchSize) {
        return new ExistingDataSetIterator(batches(batchSize));
    }

    /** Returns the other 450 images. */
    static DataSet others() {
        return ALL.range(ALL.size() - TEST_IMAGES, ALL.size()).toDataSet();
    }

    /** Returns the fraction of the other images that a network recognizes. */
    static double accuracy(MultiLayerNetwork net) {
        return net.evaluate(new SingletonDataSetIterator(others())).accuracy();
    }

    /** Returns a network of three dense layers. */
    static MultiLayerNetwork dense(IUpdater updater) {
        return init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(updater)
                .list()
                .layer(new DenseLayer.Builder()
                        .nOut(128)
                        .activation(Activation.RELU)
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(64)
                        .activation(Activation.TANH)
                        .build())
                .layer(softmax())
                .setInputType(InputType.convolutional(Digits.SIDE, Digits.SIDE, 1))
                .build());
    }

    /** Returns a network with a convolution, batch normalization and ReLU. */
    static MultiLayerNetwork convolutional(IUpdater updater) {
        return init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(updater)
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(16)
                        .convolutionMode(ConvolutionMode.Same)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new BatchNormalization.Builder().build())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(softmax())
                .setInputType(InputType.convolutional(Digits.SIDE, Digits.SIDE, 1))
                .build());
    }

    static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(Digits.CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static MultiLayerNetwork init(MultiLayerConfiguration configuration) {
        MultiLayerNetwork net = new MultiLayerNetwork(configuration);
        net.init();
        return net;
    }
}
