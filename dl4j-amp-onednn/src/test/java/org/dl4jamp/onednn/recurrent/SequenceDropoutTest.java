package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.Random;
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
                        Arguments.of("averaged, dropout", format, examples, averaged, layer)))
                // There DL4J's other layers multiply arrays of different shapes, and throw.
                .filter(arguments -> format == RNNFormat.NCW
                        || (arguments.get()[4] != simpleDropping && arguments.get()[4] != gravesDropping));
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
            for (int step = 0; step < 3; step++) {
                Nd4j.getRandom().setSeed(40 + step);
                own.fit(data);
                Nd4j.getRandom().setSeed(40 + step);
                mixed.fit(data);
            }
        }
        Agreement.assertWithin(name, own.params(), mixed.params(), 1e-5);
    }
}
