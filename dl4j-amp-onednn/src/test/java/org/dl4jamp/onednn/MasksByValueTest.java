package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Time steps that hold one value only are masked in sequences whose features come last, as in stock DL4J. */
class MasksByValueTest {
    private static final int SIZE = 4;
    private static final int STEPS = 6;
    private static final double VALUE = 0.25;

    private static AmpConfig onOneDnn(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static Layer lstm() {
        return new LSTM.Builder().nOut(5).build();
    }

    private static Layer masked(Layer inner) {
        return new MaskZeroLayer.Builder()
                .setUnderlying(inner)
                .setMaskValue(VALUE)
                .build();
    }

    static Stream<Layer> layers() {
        return Stream.of(
                masked(lstm()), masked(new SimpleRnn.Builder().nOut(5).build()), new FrozenLayer(masked(lstm())));
    }

    private static MultiLayerNetwork network(Layer layer) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .activation(Activation.TANH)
                .updater(new Adam(1e-2))
                .list()
                .layer(layer)
                .layer(lstm())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .dataFormat(RNNFormat.NWC)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.recurrent(SIZE, RNNFormat.NWC))
                .build());
    }

    /** Some time steps of each sequence hold the value that is masked, others only in part. */
    private static INDArray features(int minibatch) {
        INDArray features = gaussian(new Random(minibatch), 1, minibatch, STEPS, SIZE);
        for (int n = 0; n < minibatch; n++) {
            features.get(NDArrayIndex.point(n), NDArrayIndex.point((n + 2) % STEPS), NDArrayIndex.all())
                    .assign(VALUE);
            features.get(NDArrayIndex.point(n), NDArrayIndex.point(STEPS - 1), NDArrayIndex.all())
                    .assign(VALUE);
            features.putScalar(n, (n + 1) % STEPS, 1, VALUE);
        }
        return features;
    }

    private static DataSet data(int minibatch) {
        return new DataSet(features(minibatch), gaussian(new Random(8), 1, minibatch, STEPS, 2));
    }

    @ParameterizedTest
    @MethodSource("layers")
    void trainInFloatAsStockDoes(Layer layer) {
        MultiLayerNetwork stock = network(layer);
        MultiLayerNetwork network = stock.clone();
        assertFalse(
                stock.output(features(3)).equalsWithEps(network(lstm()).output(features(3)), 1e-3), "nothing masked");
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
            assertTrue(
                    amp.plan().rows().stream().allMatch(row -> row.engine().equals("onednn")),
                    amp.plan().toString());
            for (int step = 0; step < 4; step++) {
                DataSet batch = data(3 + step % 2);
                Agreement.assertWithin(
                        "output", stock.output(batch.getFeatures()), network.output(batch.getFeatures()), 1e-5);
                stock.fit(batch);
                network.fit(batch);
                assertEquals(stock.score(), network.score(), 1e-5);
                Agreement.assertWithin("step " + step, stock.params(), network.params(), 1e-5);
            }
        }
        Agreement.assertWithin("closed", stock.output(features(3)), network.output(features(3)), 1e-5);
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("layers")
    void trainToTheLossOfStock(Layer layer) {
        MultiLayerNetwork stock = network(layer);
        MultiLayerNetwork network = stock.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Types.halfPrecision()))) {
            assertEquals(Types.halfPrecision(), amp.plan().rows().get(1).precision());
            for (int step = 0; step < 30; step++) {
                stock.fit(data(4));
                network.fit(data(4));
            }
            assertEquals(0, amp.stepsSkipped());
        }
        assertEquals(stock.score(data(4)), network.score(data(4)), 0.05 * stock.score(data(4)));
    }

    @ParameterizedTest
    @MethodSource("layers")
    void inferWhatStockDoes(Layer layer) {
        MultiLayerNetwork stock = network(layer);
        for (Precision precision : Types.precisions()) {
            MultiLayerNetwork network = stock.clone();
            try (InferenceMode mode =
                    MixedPrecision.inference(network, onOneDnn(precision).forInference())) {
                for (int minibatch : new int[] {3, 5, 3}) {
                    Agreement.assertWithin(
                            precision.toString(),
                            stock.output(features(minibatch)),
                            network.output(features(minibatch)),
                            precision == Precision.FLOAT ? 1e-5 : 0.02);
                }
            }
        }
    }

    /** DL4J counts along the time steps there. */
    @Test
    void layersThatDl4jMasksWronglyAreLeftToIt() {
        Layer last = masked(new LastTimeStep(lstm()));
        MultiLayerNetwork stock = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .list()
                .layer(last)
                .layer(Networks.softmax(2))
                .setInputType(InputType.recurrent(SIZE, RNNFormat.NWC))
                .build());
        MultiLayerNetwork network = stock.clone();
        INDArray features = gaussian(new Random(1), 1, 3, SIZE, SIZE);
        INDArray expected = stock.output(features);
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
            assertEquals("dl4j", amp.plan().rows().get(0).engine(), amp.plan().toString());
            Agreement.assertWithin("output", expected, network.output(features), 1e-5);
        }
        assertEquals(Nd4j.create(3, 2).rank(), expected.rank());
    }
}
