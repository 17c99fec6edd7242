package org.dl4jamp;

import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks and data that the tests share: small, but of real shape. */
public final class Networks {
    private Networks() {}

    public static NeuralNetConfiguration.Builder builder(IUpdater updater) {
        return new NeuralNetConfiguration.Builder().seed(7).updater(updater);
    }

    public static MultiLayerNetwork init(MultiLayerConfiguration configuration) {
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    public static ComputationGraph init(ComputationGraphConfiguration configuration) {
        ComputationGraph graph = new ComputationGraph(configuration);
        graph.init();
        return graph;
    }

    public static OutputLayer softmax(int classes) {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(classes)
                .activation(Activation.SOFTMAX)
                .build();
    }

    public static DenseLayer dense(int out, Activation activation) {
        return new DenseLayer.Builder().nOut(out).activation(activation).build();
    }

    public static ConvolutionLayer convolution(int kernel, int out) {
        return new ConvolutionLayer.Builder(kernel, kernel)
                .nOut(out)
                .convolutionMode(ConvolutionMode.Same)
                .hasBias(false)
                .activation(Activation.IDENTITY)
                .build();
    }

    /** 20 features, two hidden layers, 3 classes. */
    public static MultiLayerConfiguration mlp() {
        return builder(new Adam(1e-2))
                .list()
                .layer(dense(32, Activation.RELU))
                .layer(dense(32, Activation.TANH))
                .layer(softmax(3))
                .setInputType(InputType.feedForward(20))
                .build();
    }

    public static DataSet vectors(int examples, int features, int classes) {
        Nd4j.getRandom().setSeed(11);
        return new DataSet(Nd4j.randn(DataType.FLOAT, examples, features), oneHot(examples, classes));
    }

    public static INDArray oneHot(int examples, int classes) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, examples, classes);
        for (int i = 0; i < examples; i++) {
            labels.putScalar(i, i % classes, 1);
        }
        return labels;
    }

    /** 3 channels of 12 by 12, convolutions with batch norm and ReLU, pooling, a dense layer, 3 classes. */
    public static MultiLayerConfiguration cnn() {
        return builder(new Adam(1e-3))
                .list()
                .layer(convolution(3, 8))
                .layer(new BatchNormalization.Builder().build())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build())
                .layer(convolution(3, 12))
                .layer(new BatchNormalization.Builder().useLogStd(false).build())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(dense(24, Activation.RELU))
                .layer(softmax(3))
                .setInputType(InputType.convolutional(12, 12, 3))
                .build();
    }

    /** Images of waves whose frequency tells the class, with noise: gradients of pure noise would say little about real training. */
    public static DataSet images(int examples, int channels, int size, int classes) {
        Nd4j.getRandom().setSeed(12);
        INDArray images =
                Nd4j.randn(DataType.FLOAT, examples, channels, size, size).muli(0.1);
        for (int i = 0; i < examples; i++) {
            for (int c = 0; c < channels; c++) {
                for (int y = 0; y < size; y++) {
                    for (int x = 0; x < size; x++) {
                        double wave = Math.sin((i % classes + 1) * (x + 0.5 * c * y) * 2 * Math.PI / size + i);
                        images.putScalar(new int[] {i, c, y, x}, images.getFloat(i, c, y, x) + wave);
                    }
                }
            }
        }
        return new DataSet(images, oneHot(examples, classes));
    }

    /** 5 features per step, two LSTM layers, 3 classes per step. */
    public static MultiLayerConfiguration lstm() {
        return builder(new Adam(1e-2))
                .list()
                .layer(new LSTM.Builder().nOut(16).build())
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(rnnSoftmax(3))
                .setInputType(InputType.recurrent(5))
                .build();
    }

    /** {@link #lstm()} with truncated BPTT over segments of 4 steps. */
    public static MultiLayerConfiguration truncatedLstm() {
        return builder(new Adam(1e-2))
                .list()
                .layer(new LSTM.Builder().nOut(16).build())
                .layer(rnnSoftmax(3))
                .setInputType(InputType.recurrent(5))
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(4)
                .build();
    }

    public static RnnOutputLayer rnnSoftmax(int classes) {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT)
                .nOut(classes)
                .activation(Activation.SOFTMAX)
                .build();
    }

    public static DataSet sequences(int examples, int features, int classes, int steps) {
        Nd4j.getRandom().setSeed(13);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, examples, classes, steps);
        for (int i = 0; i < examples; i++) {
            for (int t = 0; t < steps; t++) {
                labels.putScalar(new int[] {i, (i + t) % classes, t}, 1);
            }
        }
        return new DataSet(Nd4j.randn(DataType.FLOAT, examples, features, steps), labels);
    }

    /** {@link #sequences} of which example i has i + 2 steps at most. */
    public static DataSet maskedSequences(int examples, int features, int classes, int steps) {
        DataSet data = sequences(examples, features, classes, steps);
        INDArray mask = Nd4j.zeros(DataType.FLOAT, examples, steps);
        for (int i = 0; i < examples; i++) {
            for (int t = 0; t < Math.min(steps, i + 2); t++) {
                mask.putScalar(i, t, 1);
            }
        }
        data.setFeaturesMaskArray(mask);
        data.setLabelsMaskArray(mask.dup());
        return data;
    }

    /** A residual block and two branches that are merged, over images of 3 channels. */
    public static ComputationGraphConfiguration residual() {
        return builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(8, 8, 3))
                .addLayer("stem", convolution(3, 8), "in")
                .addLayer("stem_bn", new BatchNormalization.Builder().build(), "stem")
                .addLayer("stem_relu", new ActivationLayer(Activation.RELU), "stem_bn")
                .addLayer("a", convolution(3, 8), "stem_relu")
                .addLayer("a_bn", new BatchNormalization.Builder().build(), "a")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a_bn", "stem_relu")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "add")
                .addLayer("left", convolution(1, 4), "relu")
                .addLayer("right", convolution(3, 6), "relu")
                .addVertex("merge", new MergeVertex(), "left", "right")
                .addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), "merge")
                .addLayer("out", softmax(3), "pool")
                .setOutputs("out")
                .build();
    }
}
