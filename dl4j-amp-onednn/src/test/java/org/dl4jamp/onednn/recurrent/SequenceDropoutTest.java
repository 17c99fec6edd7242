package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Dropout of recurrent layers' outputs drops the same numbers as DL4J, with the same seed. */
class SequenceDropoutTest {
    private static final AmpConfig CONFIG =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();

    static Stream<Arguments> layers() {
        return Stream.of(RNNFormat.NCW, RNNFormat.NWC).flatMap(SequenceDropoutTest::layers);
    }

    private static Stream<Arguments> layers(RNNFormat format) {
        LSTM lstm = new LSTM.Builder().nOut(6).dataFormat(format).build();
        LSTM dropping =
                new LSTM.Builder().nOut(5).dropOut(0.5).dataFormat(format).build();
        SimpleRnn simple = new SimpleRnn.Builder().nOut(6).dataFormat(format).build();
        SimpleRnn simpleDropping =
                new SimpleRnn.Builder().nOut(5).dropOut(0.5).dataFormat(format).build();
        Layer added = new Bidirectional(Bidirectional.Mode.ADD, lstm.clone());
        Layer averaged = new Bidirectional(Bidirectional.Mode.AVERAGE, lstm.clone());
        Layer concatenated = new Bidirectional(Bidirectional.Mode.CONCAT, lstm.clone());
        GravesLSTM graves = new GravesLSTM.Builder().nOut(6).dataFormat(format).build();
        GravesLSTM gravesDropping =
                new GravesLSTM.Builder().nOut(5).dropOut(0.5).dataFormat(format).build();
        // DL4J's layer ignores its dropout.
        Layer both = new GravesBidirectionalLSTM.Builder()
                .nOut(5)
                .dropOut(0.5)
                .dataFormat(format)
                .build();
        DropoutLayer layer = new DropoutLayer(0.5);
        List<Layer> inside = Stream.of(dropping, gravesDropping, simpleDropping)
                .map(each -> new Bidirectional(Bidirectional.Mode.CONCAT, each.clone()))
                .map(Layer.class::cast)
                .toList();
        return Stream.of(4, 1)
                .flatMap(examples -> Stream.of(
                        Arguments.of("LSTM, LSTM", format, examples, lstm, dropping),
                        Arguments.of("LSTM, dropout", format, examples, lstm, layer),
                        Arguments.of("SimpleRnn, SimpleRnn", format, examples, simple, simpleDropping),
                        Arguments.of("LSTM, SimpleRnn", format, examples, lstm, simpleDropping),
                        Arguments.of("GravesLSTM, GravesLSTM", format, examples, graves, gravesDropping),
                        Arguments.of("LSTM, GravesLSTM", format, examples, lstm, gravesDropping),
                        Arguments.of("both directions, LSTM", format, examples, both, dropping),
                        Arguments.of("concatenated, LSTM", format, examples, concatenated, dropping),
                        Arguments.of("added, LSTM", format, examples, added, dropping),
                        Arguments.of("averaged, dropout", format, examples, averaged, layer),
                        Arguments.of("in each direction, LSTM", format, examples, inside.get(0), dropping),
                        Arguments.of("LSTM, in each direction", format, examples, lstm, inside.get(0)),
                        Arguments.of("SimpleRnn, in each direction", format, examples, simple, inside.get(2)),
                        Arguments.of("in each direction twice", format, examples, inside.get(1), inside.get(0))))
                // There DL4J's other layers multiply arrays of different shapes, and throw.
                .filter(arguments -> format == RNNFormat.NCW
                        || Stream.of(arguments.get()[3], arguments.get()[4])
                                .noneMatch(layerOf -> layerOf == simpleDropping
                                        || layerOf == gravesDropping
                                        || inside.contains(layerOf)));
    }

    @ParameterizedTest
    @MethodSource("layers")
    void dropsWhatDl4jDrops(String name, RNNFormat format, int examples, Layer first, Layer second) {
        MultiLayerNetwork own = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .list()
                .layer(first.clone())
                .layer(second.clone())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .activation(Activation.TANH)
                        .dataFormat(format)
                        .build())
                .setInputType(InputType.recurrent(3, 7, format))
                .build());
        MultiLayerNetwork mixed = own.clone();
        Random random = new Random(8);
        DataSet data = format == RNNFormat.NCW
                ? new DataSet(gaussian(random, 1, examples, 3, 7), gaussian(random, 1, examples, 2, 7))
                : new DataSet(gaussian(random, 1, examples, 7, 3), gaussian(random, 1, examples, 7, 2));
        try (MixedPrecision amp = MixedPrecision.enable(mixed, CONFIG)) {
            assertTrue(
                    amp.plan().rows().stream().allMatch(row -> row.engine().equals("onednn")),
                    amp.plan().toString());
            for (int step = 0; step < 3; step++) {
                Nd4j.getRandom().setSeed(40 + step);
                own.fit(data);
                Nd4j.getRandom().setSeed(40 + step);
                mixed.fit(data);
            }
        }
        Agreement.assertWithin(name, own.params(), mixed.params(), 1e-5);
        assertEquals(own.score(), mixed.score(), 1e-5 * own.score());
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void eachDirectionDropsItsOwnNumbersInWhateverPassIsForTraining(Precision precision) {
        MultiLayerNetwork own = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .list()
                .layer(new Bidirectional(
                        Bidirectional.Mode.MUL,
                        new LSTM.Builder().nOut(9).dropOut(0.6).build()))
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .activation(Activation.TANH)
                        .build())
                .setInputType(InputType.recurrent(5))
                .build());
        MultiLayerNetwork mixed = own.clone();
        Random random = new Random(8);
        double bound = precision == Precision.FLOAT ? 1e-5 : 0.03;
        try (MixedPrecision amp = MixedPrecision.enable(
                mixed, AmpConfig.builder().precision(precision).engine("onednn").build())) {
            assertEquals("onednn", amp.plan().rows().get(0).engine(), amp.plan().toString());
            // Of a single step in BFLOAT16 the wrapper can't tell the order of DL4J's array, whatever the layer.
            for (int steps : new int[] {7, 4, 2}) {
                DataSet data = new DataSet(gaussian(random, 1, 6, 5, steps), gaussian(random, 1, 6, 2, steps));
                for (boolean training : new boolean[] {true, false, true}) {
                    Agreement.assertWithin(
                            "output",
                            seeded(() -> own.output(data.getFeatures(), training)),
                            seeded(() -> mixed.output(data.getFeatures(), training)),
                            bound);
                }
                Agreement.assertWithin(
                        "gradient", seeded(() -> gradient(own, data)), seeded(() -> gradient(mixed, data)), bound);
                seeded(() -> fit(own, data));
                Agreement.assertWithin("parameters", own.params(), seeded(() -> fit(mixed, data)), bound / 10);
            }
        }
    }

    private static INDArray seeded(Supplier<INDArray> pass) {
        Nd4j.getRandom().setSeed(40);
        return pass.get();
    }

    private static INDArray fit(MultiLayerNetwork network, DataSet data) {
        network.fit(data);
        return network.params();
    }

    private static INDArray gradient(MultiLayerNetwork network, DataSet data) {
        network.setInput(data.getFeatures());
        network.setLabels(data.getLabels());
        network.computeGradientAndScore();
        return network.gradient().gradient().dup();
    }
}
