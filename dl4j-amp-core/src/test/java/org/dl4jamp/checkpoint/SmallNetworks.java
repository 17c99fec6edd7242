package org.dl4jamp.checkpoint;

import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.dl4jamp.Networks;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Configurations whose first layers are of many kinds, and data for them. */
final class SmallNetworks {
    static final int CLASSES = 3;

    private SmallNetworks() {}

    static MultiLayerConfiguration dense() {
        return first(dense(4, 5), InputType.feedForward(4));
    }

    /** Configurations by what their first layer is, with the shape of an input array. */
    static Map<String, MultiLayerConfiguration> byFirstLayer() {
        Map<String, MultiLayerConfiguration> configurations = new LinkedHashMap<>();
        InputType features = InputType.feedForward(4);
        InputType images = InputType.convolutional(6, 6, 2);
        InputType sequences = InputType.recurrent(4, 3);
        configurations.put("dense", dense());
        configurations.put("constrained dense", first(constrained(), features));
        configurations.put(
                "convolution", first(new ConvolutionLayer.Builder(3, 3).nOut(4).build(), images));
        configurations.put("batch normalization", first(new BatchNormalization(), images));
        configurations.put("activation", first(new ActivationLayer(Activation.TANH), features));
        configurations.put("dropout", first(new DropoutLayer(0.9), features));
        configurations.put("frozen", first(new FrozenLayer(constrained()), features));
        configurations.put("frozen with backprop", first(new FrozenLayerWithBackprop(dense(4, 5)), features));
        configurations.put(
                "autoencoder",
                first(new VariationalAutoencoder.Builder().nIn(4).nOut(5).build(), features));
        configurations.put("last time step", first(new LastTimeStep(lstm()), sequences));
        configurations.put("bidirectional", first(new LastTimeStep(new Bidirectional(lstm())), sequences));
        return configurations;
    }

    private static Layer dense(int in, int out) {
        return new DenseLayer.Builder().nIn(in).nOut(out).build();
    }

    private static Layer constrained() {
        return new DenseLayer.Builder()
                .nIn(4)
                .nOut(5)
                .constrainWeights(new MaxNormConstraint(0.9, 1))
                .build();
    }

    private static LSTM lstm() {
        return new LSTM.Builder().nIn(4).nOut(5).build();
    }

    private static MultiLayerConfiguration first(Layer layer, InputType inputType) {
        return Networks.builder(new Adam(1e-2))
                .activation(Activation.TANH)
                .list()
                .layer(layer)
                .layer(output().build())
                .setInputType(inputType)
                .build();
    }

    private static OutputLayer.Builder output() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX);
    }

    /** A graph with a residual connection whose first vertex is not a layer. */
    static ComputationGraphConfiguration graph() {
        return Networks.builder(new Adam(1e-2))
                .activation(Activation.TANH)
                .graphBuilder()
                .addInputs("in")
                .addVertex("norm", new L2NormalizeVertex(), "in")
                .addLayer("a", dense(4, 4), "norm")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "in")
                .addLayer("out", output().nIn(4).build(), "sum")
                .setOutputs("out")
                .setInputTypes(InputType.feedForward(4))
                .build();
    }

    static DataSet batch(InputType inputType) {
        long[] shape = inputType.getShape(true);
        shape[0] = 8;
        return batch(shape);
    }

    static DataSet batch(long... shape) {
        INDArray labels = Nd4j.zeros(shape[0], CLASSES);
        for (int i = 0; i < shape[0]; i++) {
            labels.putScalar(i, i % CLASSES, 1);
        }
        return new DataSet(
                Nd4j.linspace(-1, 1, product(shape))
                        .castTo(Nd4j.defaultFloatingPointType())
                        .reshape(shape),
                labels);
    }

    private static long product(long... shape) {
        long product = 1;
        for (long size : shape) {
            product *= size;
        }
        return product;
    }
}
