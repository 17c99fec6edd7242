package org.dl4jamp.ui;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/**
 * A small network in half precision whose loss scale begins far too high and grows soon, so that there is a lot to see.
 */
final class Training {
    static final int CLASSES = 4;
    static final int FEATURES = 16;

    private Training() {}

    /** Returns the network with these hidden layers. */
    public static MultiLayerNetwork network(String... hidden) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(1e-2))
                .list();
        for (String name : hidden) {
            list.layer(new DenseLayer.Builder()
                    .name(name)
                    .nOut(32)
                    .activation(Activation.TANH)
                    .build());
        }
        list.layer(new OutputLayer.Builder()
                .name("probabilities")
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.feedForward(FEATURES)).build());
        network.init();
        return network;
    }

    /** Returns a batch whose class is the largest of its first features. */
    public static DataSet batch(long seed) {
        Nd4j.getRandom().setSeed(seed);
        INDArray features = Nd4j.randn(DataType.FLOAT, 32, FEATURES);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 32, CLASSES);
        for (int i = 0; i < 32; i++) {
            int largest = 0;
            for (int j = 1; j < CLASSES; j++) {
                largest = features.getDouble(i, j) > features.getDouble(i, largest) ? j : largest;
            }
            labels.putScalar(i, largest, 1);
        }
        return new DataSet(features, labels);
    }

    /** Returns settings of HALF with the first scale and growth of a loss scaler. */
    public static AmpConfig.Builder half(double initialScale, int growthInterval) {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .scaleSearch(0)
                .lossScaler(DynamicLossScaler.builder()
                        .initialScale(initialScale)
                        .growthInterval(growthInterval)
                        .maxScale(0x1p30)
                        .build());
    }
}
