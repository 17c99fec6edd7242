package org.dl4jamp;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.distribution.UniformDistribution;
import org.deeplearning4j.nn.conf.dropout.AlphaDropout;
import org.deeplearning4j.nn.conf.dropout.GaussianDropout;
import org.deeplearning4j.nn.conf.dropout.GaussianNoise;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.deeplearning4j.nn.weights.WeightInitDistribution;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Every feed-forward layer of DL4J, between two dense layers, against FP32. */
class FeedForwardLayersTest extends LayerCases {
    private static final DataSet VECTORS = Networks.vectors(64, 10, 3);

    private static LayerCase between(String name, Layer layer) {
        return new LayerCase(
                name,
                Networks.builder(new Adam(1e-3))
                        .list()
                        .layer(Networks.dense(12, Activation.TANH))
                        .layer(layer)
                        .layer(Networks.dense(11, Activation.TANH))
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.feedForward(10))
                        .build(),
                VECTORS,
                layer.getClass(),
                Comparison.Tolerance.HALF);
    }

    private static DenseLayer.Builder dense() {
        return new DenseLayer.Builder().nOut(9).activation(Activation.TANH);
    }

    static Stream<LayerCase> hiddenLayers() {
        List<LayerCase> cases = new ArrayList<>(List.of(
                between("dense", dense().build()),
                between("dense without bias", dense().hasBias(false).build()),
                // 1.0.0-M1.1 fails.
                between("dense with layer norm", dense().hasLayerNorm(true).build())
                        .unlessDl4jFails(),
                between("dense with dropout", dense().dropOut(0.7).build()),
                between(
                        "dense with Gaussian dropout",
                        dense().dropOut(new GaussianDropout(0.3)).build()),
                between(
                        "dense with Gaussian noise",
                        dense().dropOut(new GaussianNoise(0.3)).build()),
                between(
                        "dense with alpha dropout",
                        dense().dropOut(new AlphaDropout(0.8)).build()),
                between(
                        "dense with drop connect",
                        dense().weightNoise(new DropConnect(0.8)).build()),
                between(
                        "dense with weight noise",
                        dense().weightNoise(new WeightNoise(new NormalDistribution(0, 0.1)))
                                .build()),
                between(
                        "PReLU",
                        new PReLULayer.Builder()
                                .weightInit(new WeightInitDistribution(new UniformDistribution(0.1, 0.4)))
                                .inputShape(12)
                                .build()),
                between(
                        "element-wise multiplication",
                        new ElementWiseMultiplicationLayer.Builder()
                                .nIn(12)
                                .nOut(12)
                                .activation(Activation.TANH)
                                .build()),
                between("dropout", new DropoutLayer.Builder(0.6).build()),
                between(
                        "autoencoder",
                        new AutoEncoder.Builder()
                                .nOut(9)
                                .activation(Activation.TANH)
                                .build()),
                between(
                        "variational autoencoder",
                        new VariationalAutoencoder.Builder()
                                .nOut(5)
                                .encoderLayerSizes(8)
                                .decoderLayerSizes(8)
                                .activation(Activation.TANH)
                                .build()),
                between("batch norm", new BatchNormalization.Builder().build()),
                between(
                        "batch norm with variance",
                        new BatchNormalization.Builder().useLogStd(false).build()),
                between(
                        "batch norm with fixed gamma",
                        new BatchNormalization.Builder().lockGammaBeta(true).build()),
                between("frozen with backprop", new FrozenLayerWithBackprop(dense().build()))));
        for (Activation activation : Activation.values()) {
            if (activation != Activation.SOFTMAX) {
                cases.add(between(activation + " layer", new ActivationLayer(activation)));
                cases.add(between("dense " + activation, Networks.dense(9, activation)));
            }
        }
        return cases.stream();
    }

    private static DataSet indices() {
        INDArray rows = Nd4j.create(DataType.FLOAT, 16, 1);
        IntStream.range(0, 16).forEach(i -> rows.putScalar(i, i * 5 % 20));
        return new DataSet(rows, Networks.oneHot(16, 3));
    }

    private static LayerCase embedding(String name, EmbeddingLayer layer) {
        return new LayerCase(
                name,
                Networks.builder(new Adam(1e-3))
                        .list()
                        .layer(layer)
                        .layer(Networks.dense(11, Activation.TANH))
                        .layer(Networks.softmax(3))
                        .build(),
                indices(),
                EmbeddingLayer.class,
                Comparison.Tolerance.HALF);
    }

    // At the front: a graph of plain DL4J fails if it has a layer to train in front of a frozen one.
    static Stream<LayerCase> frozen() {
        return Stream.of(new LayerCase(
                "frozen",
                Networks.builder(new Adam(1e-3))
                        .list()
                        .layer(new FrozenLayer(dense().build()))
                        .layer(new FrozenLayer(dense().build()))
                        .layer(Networks.dense(11, Activation.TANH))
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.feedForward(10))
                        .build(),
                VECTORS,
                FrozenLayer.class,
                Comparison.Tolerance.HALF));
    }

    static Stream<LayerCase> embeddings() {
        return Stream.of(
                embedding(
                        "embedding",
                        new EmbeddingLayer.Builder()
                                .nIn(20)
                                .nOut(9)
                                .activation(Activation.IDENTITY)
                                .build()),
                embedding(
                        "embedding with bias and tanh",
                        new EmbeddingLayer.Builder()
                                .nIn(20)
                                .nOut(9)
                                .hasBias(true)
                                .activation(Activation.TANH)
                                .build()));
    }

    static Stream<LayerCase> all() {
        return Stream.of(hiddenLayers(), frozen(), embeddings()).flatMap(Function.identity());
    }

    static Stream<LayerCase> inBfloat16() {
        return all();
    }
}
