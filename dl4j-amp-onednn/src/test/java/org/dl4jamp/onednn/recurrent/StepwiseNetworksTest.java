package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.activation.UsersFunctions;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Networks of recurrent layers with functions of all sums of a time step, against stock DL4J. */
class StepwiseNetworksTest {
    private static final int SIZE = 4;
    private static final int STEPS = 6;
    private static final IActivation SOFTMAX = Activation.SOFTMAX.getActivationFunction();
    private static final IActivation SCALED = new UsersFunctions.Scaled(1.2, 0.8);

    private static AmpConfig onOneDnn(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static LSTM lstm() {
        return new LSTM.Builder()
                .nOut(5)
                .activation(SOFTMAX)
                .gateActivationFunction(SCALED)
                .build();
    }

    private static GravesLSTM gravesLstm() {
        return new GravesLSTM.Builder()
                .nOut(5)
                .activation(SCALED)
                .gateActivationFunction(SOFTMAX)
                .build();
    }

    private static SimpleRnn simpleRnn() {
        return new SimpleRnn.Builder().nOut(5).activation(SOFTMAX).build();
    }

    private static Layer attention(boolean projects) {
        return new RecurrentAttentionLayer.Builder()
                .nIn(SIZE)
                .nOut(SIZE)
                .nHeads(1)
                .projectInput(projects)
                .activation(Activation.SOFTMAX)
                .build();
    }

    static Stream<Layer> layers() {
        Stream<Layer> directions = Arrays.stream(Bidirectional.Mode.values())
                .flatMap(mode -> Stream.of(lstm(), gravesLstm(), simpleRnn())
                        .map(direction -> new Bidirectional(mode, direction)));
        return Stream.concat(
                Stream.of(
                        lstm(),
                        gravesLstm(),
                        simpleRnn(),
                        new GravesBidirectionalLSTM.Builder()
                                .nOut(5)
                                .activation(SOFTMAX)
                                .gateActivationFunction(SCALED)
                                .build(),
                        attention(true),
                        attention(false)),
                directions);
    }

    private static NeuralNetConfiguration.ListBuilder builder(Layer layer) {
        return new NeuralNetConfiguration.Builder()
                .seed(3)
                .activation(Activation.TANH)
                .updater(new Sgd(0.1))
                .list()
                .layer(layer)
                .layer(Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(SIZE));
    }

    private static DataSet data(int minibatch, boolean masked) {
        Random random = new Random(minibatch);
        INDArray labels = Nd4j.zeros(minibatch, 3, STEPS);
        INDArray mask = Nd4j.ones(minibatch, STEPS);
        for (int n = 0; n < minibatch; n++) {
            for (int t = 0; t < STEPS; t++) {
                labels.putScalar(n, random.nextInt(3), t, 1);
            }
            mask.putScalar(n, STEPS - 1, n % 2);
        }
        DataSet data = new DataSet(gaussian(random, 1, minibatch, SIZE, STEPS), labels);
        if (masked) {
            data.setFeaturesMaskArray(mask);
            data.setLabelsMaskArray(mask);
        }
        return data;
    }

    @ParameterizedTest
    @MethodSource("layers")
    void trainInFloatAsStockDoes(Layer layer) {
        for (boolean masked : new boolean[] {false, true}) {
            MultiLayerNetwork stock = Networks.init(builder(layer.clone()).build());
            MultiLayerNetwork network = stock.clone();
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
                assertTrue(
                        amp.plan().rows().stream().allMatch(row -> row.engine().equals("onednn")),
                        amp.plan().toString());
                for (int step = 0; step < 3; step++) {
                    DataSet batch = data(3 + step, masked);
                    stock.fit(batch);
                    network.fit(batch);
                    assertEquals(stock.score(), network.score(), 1e-5 * stock.score());
                    Agreement.assertWithin("step " + step, stock.params(), network.params(), 1e-5);
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("layers")
    void inferWhatStockDoes(Layer layer) {
        MultiLayerNetwork stock = Networks.init(builder(layer.clone()).build());
        INDArray features = data(3, false).getFeatures();
        for (Precision precision : Types.precisions()) {
            MultiLayerNetwork network = stock.clone();
            try (InferenceMode mode =
                    MixedPrecision.inference(network, onOneDnn(precision).forInference())) {
                Agreement.assertWithin(
                        precision.toString(),
                        stock.output(features),
                        network.output(features),
                        precision == Precision.FLOAT ? 1e-5 : 0.02);
            }
        }
    }

    @Test
    void truncatedBackpropagationAndTimeStepsAreThoseOfStock() {
        for (Layer layer : new Layer[] {lstm(), gravesLstm(), simpleRnn()}) {
            MultiLayerNetwork stock = Networks.init(builder(layer)
                    .backpropType(BackpropType.TruncatedBPTT)
                    .tBPTTLength(2)
                    .build());
            MultiLayerNetwork network = stock.clone();
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
                assertEquals(0, amp.stepsSkipped());
                for (int step = 0; step < 2; step++) {
                    stock.fit(data(4, false));
                    network.fit(data(4, false));
                    Agreement.assertWithin("step " + step, stock.params(), network.params(), 1e-5);
                }
                INDArray features = data(2, false).getFeatures();
                for (int part = 0; part < 2; part++) {
                    Agreement.assertWithin(
                            "time steps", stock.rnnTimeStep(features), network.rnnTimeStep(features), 1e-5);
                }
            }
        }
    }
}
