package org.dl4jamp.inspect.speed;

import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.dl4jamp.inspect.speed.Task.Size;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The networks that are measured: as large as it takes for the arithmetic to count as it does in training. */
final class Workloads {
    private static final int SEED = 20260106;
    private static final double RATE = 1e-4;
    private static final int NORMALIZED_CONVOLUTIONS = 3;
    private static final int DENSE_LAYERS = 2;
    private static final int LSTM_LAYERS = 2;

    /** About as many examples' products take as long as Adam with all weights. */
    private static final double EXAMPLES_AS_LONG_AS_THE_UPDATE = 128;

    private Workloads() {}

    /** Returns dense layers, convolutions and LSTM layers. */
    static List<Workload> all() {
        return List.of(
                new Workload("dense", "dense layers", 4, dense(1024, 3072, 1000, 256, 64, 16), dense(8, 16, 4, 4)),
                new Workload("lstm", "LSTM layers", 5, lstm(96, 512, 32, 16, 8, 4), lstm(8, 8, 2, 16)),
                // The last ones: their steps are the shortest, and Java's part in them the largest.
                new Workload("convolutions", "convolutions", 6, convolutions(256, 64, 32, 16), convolutions(64, 8)));
    }

    /** Returns two dense layers with ReLU and a softmax. */
    static Task dense(int inputs, int units, int classes, int... minibatches) {
        return new Task(
                () -> {
                    ListBuilder layers = layers();
                    for (int i = 0; i < DENSE_LAYERS; i++) {
                        layers.layer(new DenseLayer.Builder()
                                .nOut(units)
                                .activation(Activation.RELU)
                                .build());
                    }
                    layers.layer(new OutputLayer.Builder(LossFunction.MCXENT)
                            .nOut(classes)
                            .activation(Activation.SOFTMAX)
                            .build());
                    return network(layers, InputType.feedForward(inputs));
                },
                sizes(
                        minibatches,
                        minibatch -> new Size(
                                inputs + "-" + units + "-" + units + "-" + classes + ", batch " + minibatch,
                                EXAMPLES_AS_LONG_AS_THE_UPDATE + minibatch,
                                () -> examples(inputs, classes, minibatch))));
    }

    /** Returns 1×1 convolutions with batch normalization and ReLU, as in {@code amp sine}. */
    static Task convolutions(int channels, int... sides) {
        return new Task(
                () -> {
                    ListBuilder layers = layers();
                    for (int i = 0; i < NORMALIZED_CONVOLUTIONS; i++) {
                        layers.layer(convolution(channels));
                        layers.layer(new BatchNormalization());
                        layers.layer(new ActivationLayer(Activation.RELU));
                    }
                    layers.layer(convolution(1));
                    layers.layer(new CnnLossLayer.Builder(LossFunction.MSE)
                            .activation(Activation.IDENTITY)
                            .build());
                    return network(layers, InputType.convolutional(sides[0], sides[0], 2));
                },
                sizes(
                        sides,
                        side -> new Size(
                                "1×1 convolutions of " + channels + " channels with batch normalization on " + side
                                        + "×" + side + " points",
                                (double) side * side,
                                () -> grid(side))));
    }

    /** Returns LSTM layers that guess the next character. */
    static Task lstm(int characters, int units, int minibatch, int... steps) {
        return new Task(
                () -> {
                    ListBuilder layers = layers();
                    for (int i = 0; i < LSTM_LAYERS; i++) {
                        layers.layer(new LSTM.Builder()
                                .nOut(units)
                                .activation(Activation.TANH)
                                .build());
                    }
                    layers.layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                            .nOut(characters)
                            .activation(Activation.SOFTMAX)
                            .build());
                    return network(layers, InputType.recurrent(characters));
                },
                sizes(
                        steps,
                        each -> new Size(
                                LSTM_LAYERS + " layers of " + units + ", " + each + " steps, batch " + minibatch,
                                each,
                                () -> text(characters, each, minibatch))));
    }

    private static List<Size> sizes(int[] numbers, IntFunction<Size> size) {
        return IntStream.of(numbers).mapToObj(size).toList();
    }

    private static ListBuilder layers() {
        return new NeuralNetConfiguration.Builder()
                .seed(SEED)
                .weightInit(WeightInit.XAVIER)
                .updater(new Adam(RATE))
                .list();
    }

    private static ConvolutionLayer convolution(int channels) {
        return new ConvolutionLayer.Builder(1, 1)
                .nOut(channels)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static MultiLayerNetwork network(ListBuilder layers, InputType input) {
        MultiLayerNetwork network =
                new MultiLayerNetwork(layers.setInputType(input).build());
        network.init();
        return network;
    }

    private static DataSet examples(int inputs, int classes, int minibatch) {
        Random random = new Random(SEED);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, minibatch, classes);
        for (int i = 0; i < minibatch; i++) {
            labels.putScalar(i, random.nextInt(classes), 1);
        }
        return new DataSet(Nd4j.rand(DataType.FLOAT, minibatch, inputs), labels);
    }

    private static DataSet grid(int side) {
        return new DataSet(Nd4j.rand(DataType.FLOAT, 1, 2, side, side), Nd4j.rand(DataType.FLOAT, 1, 1, side, side));
    }

    private static DataSet text(int characters, int steps, int minibatch) {
        Random random = new Random(SEED);
        float[][][] features = new float[minibatch][characters][steps];
        float[][][] labels = new float[minibatch][characters][steps];
        for (int line = 0; line < minibatch; line++) {
            for (int step = 0; step < steps; step++) {
                features[line][random.nextInt(characters)][step] = 1;
                labels[line][random.nextInt(characters)][step] = 1;
            }
        }
        return new DataSet(Nd4j.createFromArray(features), Nd4j.createFromArray(labels));
    }
}
