package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** A layer per time step is computed inside DL4J's wrapper, and gives what stock DL4J gives. */
class TimeDistributedTest {
    private static final int SIZE = 4;
    private static final double ERROR = 1e-5;

    private static AmpConfig onOneDnn(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static Layer dense(int out, Activation function) {
        return new DenseLayer.Builder().nOut(out).activation(function).build();
    }

    private static Layer lstm() {
        return new LSTM.Builder().nOut(6).build();
    }

    private static RnnOutputLayer output(RNNFormat format) {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT)
                .nOut(3)
                .dataFormat(format)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static MultiLayerConfiguration network(RNNFormat format, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(3)
                .activation(Activation.TANH)
                .updater(new Adam(1e-2))
                .list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return list.layer(output(format))
                .setInputType(InputType.recurrent(SIZE, format))
                .build();
    }

    private static Layer first() {
        return new TimeDistributed(dense(5, Activation.RELU));
    }

    private static Layer second() {
        return new TimeDistributed(dense(7, Activation.SOFTMAX));
    }

    static Stream<Arguments> networks() {
        FrozenLayer frozen = new FrozenLayer(new TimeDistributed(dense(7, Activation.TANH)));
        return Stream.of(
                Arguments.of("first and last", network(RNNFormat.NCW, first(), lstm(), second())),
                Arguments.of("one after the other", network(RNNFormat.NCW, first(), second())),
                Arguments.of("features last", network(RNNFormat.NWC, first(), lstm(), second())),
                Arguments.of("frozen", network(RNNFormat.NCW, first(), lstm(), frozen, second())),
                Arguments.of(
                        "with dropout",
                        network(
                                RNNFormat.NCW,
                                lstm(),
                                new TimeDistributed(new DenseLayer.Builder()
                                        .nOut(5)
                                        .dropOut(0.7)
                                        .build()))));
    }

    private static DataSet data(MultiLayerConfiguration conf, int minibatch, int steps, boolean masked) {
        boolean nwc = ((RnnOutputLayer) conf.getConf(conf.getConfs().size() - 1).getLayer()).getRnnDataFormat()
                == RNNFormat.NWC;
        INDArray features = nwc
                ? gaussian(new Random(steps), 1, minibatch, steps, SIZE)
                : gaussian(new Random(steps), 1, minibatch, SIZE, steps);
        INDArray labels = nwc ? Nd4j.zeros(minibatch, steps, 3) : Nd4j.zeros(minibatch, 3, steps);
        INDArray mask = Nd4j.ones(DataType.FLOAT, minibatch, steps);
        for (int n = 0; n < minibatch; n++) {
            for (int t = 0; t < steps; t++) {
                int label = (n + t) % 3;
                labels.putScalar(nwc ? new int[] {n, t, label} : new int[] {n, label, t}, 1);
                mask.putScalar(n, t, t < steps - n % 3 ? 1 : 0);
            }
        }
        return masked ? new DataSet(features, labels, mask, mask) : new DataSet(features, labels);
    }

    private static void fit(MultiLayerNetwork network, DataSet data) {
        Nd4j.getRandom().setSeed(9);
        network.fit(data);
    }

    @ParameterizedTest
    @MethodSource("networks")
    void trainsInFloatAsStockDoes(String name, MultiLayerConfiguration conf) {
        MultiLayerNetwork stock = Networks.init(conf.clone());
        MultiLayerNetwork network = stock.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
            assertTrue(
                    amp.plan().rows().stream().allMatch(row -> row.engine().equals("onednn")),
                    amp.plan().toString());
            for (int step = 0; step < 4; step++) {
                DataSet batch = data(conf, 5 - step, 4 + step % 2, step > 1);
                fit(stock, batch);
                fit(network, batch);
                assertEquals(stock.score(), network.score(), ERROR);
                Agreement.assertWithin(name + ", step " + step, stock.params(), network.params(), ERROR);
                INDArray mask = batch.getFeaturesMaskArray();
                Agreement.assertWithin(
                        name + ", output",
                        stock.output(batch.getFeatures(), false, mask, mask),
                        network.output(batch.getFeatures(), false, mask, mask),
                        ERROR);
                if (!name.equals("with dropout") && !name.equals("frozen")) {
                    assertInputGradients(name, stock, network, batch);
                }
            }
        }
    }

    private static void assertInputGradients(
            String name, MultiLayerNetwork stock, MultiLayerNetwork network, DataSet batch) {
        INDArray mask = batch.getFeaturesMaskArray();
        Agreement.assertWithin(
                name + ", gradient of the input",
                stock.calculateGradients(batch.getFeatures(), batch.getLabels(), mask, mask)
                        .getSecond(),
                network.calculateGradients(batch.getFeatures(), batch.getLabels(), mask, mask)
                        .getSecond(),
                ERROR);
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("networks")
    void trainsToTheLossOfStock(String name, MultiLayerConfiguration conf) {
        DataSet batch = data(conf, 8, 6, false);
        MultiLayerNetwork stock = Networks.init(conf.clone());
        MultiLayerNetwork network = stock.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
            for (int step = 0; step < 3; step++) {
                fit(network, batch);
            }
            long made = OneDnnContext.made();
            for (int step = 3; step < 30; step++) {
                fit(network, batch);
            }
            assertEquals(made, OneDnnContext.made(), "primitives made anew");
            assertEquals(0, amp.stepsSkipped());
        }
        for (int step = 0; step < 30; step++) {
            fit(stock, batch);
        }
        assertEquals(stock.score(batch), network.score(batch), 0.05 * stock.score(batch), name);
    }

    @ParameterizedTest
    @MethodSource("networks")
    void infersWhatStockDoes(String name, MultiLayerConfiguration conf) {
        MultiLayerNetwork stock = Networks.init(conf.clone());
        for (Precision precision : Types.precisions()) {
            MultiLayerNetwork network = stock.clone();
            try (InferenceMode mode =
                    MixedPrecision.inference(network, onOneDnn(precision).forInference())) {
                for (int steps : new int[] {5, 3, 5}) {
                    DataSet batch = data(conf, 4, steps, true);
                    INDArray mask = batch.getFeaturesMaskArray();
                    Agreement.assertWithin(
                            name + " " + precision,
                            stock.output(batch.getFeatures(), false, mask, mask),
                            network.output(batch.getFeatures(), false, mask, mask),
                            precision == Precision.FLOAT ? ERROR : 0.02);
                }
            }
        }
    }

    @Test
    void aGraphThatAddsItsGradientToAnotherTrainsAsStockDoes() {
        NeuralNetConfiguration.Builder builder = Networks.builder(new Adam(1e-2));
        ComputationGraph stock = Networks.init(builder.activation(Activation.TANH)
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.recurrent(SIZE))
                .addLayer("lstm", lstm(), "in")
                .addLayer("one", new TimeDistributed(dense(5, Activation.RELU)), "lstm")
                .addLayer("other", new TimeDistributed(dense(5, Activation.TANH)), "lstm")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "one", "other")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "sum")
                .addLayer("last", new TimeDistributed(dense(4, Activation.SOFTPLUS)), "relu")
                .addLayer("out", output(RNNFormat.NCW), "last")
                .setOutputs("out")
                .build());
        ComputationGraph graph = stock.clone();
        DataSet batch = data(network(RNNFormat.NCW, lstm()), 5, 6, true);
        try (MixedPrecision amp = MixedPrecision.enable(graph, onOneDnn(Precision.FLOAT))) {
            for (int step = 0; step < 3; step++) {
                stock.fit(batch);
                graph.fit(batch);
                Agreement.assertWithin("step " + step, stock.params(), graph.params(), ERROR);
            }
            assertEquals("onednn", amp.plan().row("last").engine());
        }
    }

    @Test
    void truncatedBpttTrainsAsStockDoes() {
        MultiLayerConfiguration conf = network(RNNFormat.NCW, lstm(), first());
        conf.setBackpropType(BackpropType.TruncatedBPTT);
        conf.setTbpttFwdLength(3);
        conf.setTbpttBackLength(3);
        MultiLayerNetwork stock = Networks.init(conf);
        MultiLayerNetwork network = stock.clone();
        DataSet batch = data(conf, 4, 8, true);
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
            for (int step = 0; step < 3; step++) {
                stock.fit(batch);
                network.fit(batch);
                Agreement.assertWithin("step " + step, stock.params(), network.params(), ERROR);
            }
            assertEquals(0, amp.stepsSkipped());
        }
    }

    @Test
    void masterWeightsStayThoseOfTheLayerInside() {
        MultiLayerNetwork network = Networks.init(network(RNNFormat.NCW, first(), second()));
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
            assertEquals(Types.halfPrecision(), amp.plan().rows().get(0).precision());
        }
        BaseLayer inside = (BaseLayer) ((TimeDistributed)
                        network.getLayerWiseConfigurations().getConf(0).getLayer())
                .getUnderlying();
        assertEquals(Activation.RELU.getActivationFunction(), inside.getActivationFn());
    }
}
