package org.dl4jamp;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling1D;
import org.deeplearning4j.nn.conf.layers.ZeroPadding1DLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping1D;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.misc.RepeatVector;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.util.MaskLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastMulOp;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Every layer of DL4J for time series, behind an LSTM, against FP32. Without the simple recurrent layer with layer
 * normalization and the attention layer with learned queries: DL4J 1.0.0-M2.1 fails to run them in FP32.
 */
class RecurrentLayersTest extends LayerCases {
    private static final DataSet SEQUENCES = Networks.sequences(8, 5, 3, 6);
    private static final DataSet MASKED = Networks.maskedSequences(8, 5, 3, 6);
    private static final DataSet CLASSIFIED =
            new DataSet(MASKED.getFeatures(), Networks.oneHot(8, 3), MASKED.getFeaturesMaskArray(), null);

    private static LSTM lstm(int out) {
        return new LSTM.Builder().nOut(out).build();
    }

    private static LayerCase of(
            String name, DataSet data, InputType input, Class<? extends Layer> forced, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list =
                Networks.builder(new Adam(1e-3)).activation(Activation.TANH).list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return new LayerCase(name, list.setInputType(input).build(), data, forced, Comparison.Tolerance.HALF);
    }

    private static LayerCase perStep(String name, DataSet data, Layer layer) {
        return of(
                name, data, InputType.recurrent(5), layer.getClass(), lstm(8), layer, lstm(6), Networks.rnnSoftmax(3));
    }

    private static LayerCase lastStep(String name, DataSet data, Layer layer) {
        return of(
                name,
                data,
                InputType.recurrent(5),
                layer.getClass(),
                lstm(8),
                layer,
                Networks.dense(6, Activation.TANH),
                Networks.softmax(3));
    }

    static Stream<LayerCase> recurrent() {
        List<LayerCase> cases = new ArrayList<>();
        for (DataSet data : new DataSet[] {SEQUENCES, MASKED}) {
            String masked = data.getFeaturesMaskArray() == null ? "" : ", masked";
            cases.add(perStep("LSTM" + masked, data, lstm(7)));
            cases.add(perStep(
                    "LSTM with peepholes" + masked,
                    data,
                    new GravesLSTM.Builder().nOut(7).build()));
            cases.add(perStep(
                    "both directions with peepholes" + masked,
                    data,
                    new GravesBidirectionalLSTM.Builder().nOut(7).build()));
            cases.add(perStep(
                    "simple" + masked, data, new SimpleRnn.Builder().nOut(7).build()));
            for (Bidirectional.Mode mode : Bidirectional.Mode.values()) {
                cases.add(perStep("both directions, " + mode + masked, data, new Bidirectional(mode, lstm(7))));
            }
            cases.add(perStep("mask" + masked, data, new MaskLayer()));
            cases.add(perStep("mask zero" + masked, data, new MaskZeroLayer(lstm(7), 0.0)));
            cases.add(perStep(
                    "dense at each step" + masked, data, new TimeDistributed(Networks.dense(7, Activation.TANH))));
            cases.add(perStep(
                    "self attention" + masked,
                    data,
                    new SelfAttentionLayer.Builder()
                            .nOut(6)
                            .nHeads(2)
                            .projectInput(true)
                            .build()));
            cases.add(perStep("convolution" + masked, data, convolution()));
        }
        // Without masks: DL4J's dropout layer takes those of vectors only.
        cases.add(perStep("dropout", SEQUENCES, new DropoutLayer.Builder(0.7).build()));
        cases.add(perStep(
                "LSTM with dropout",
                SEQUENCES,
                new LSTM.Builder().nOut(7).dropOut(0.7).build()));
        cases.add(perStep(
                "LSTM with drop connect",
                SEQUENCES,
                new LSTM.Builder().nOut(7).weightNoise(new DropConnect(0.8)).build()));
        cases.add(perStep(
                "both directions with dropout",
                SEQUENCES,
                new Bidirectional(new LSTM.Builder().nOut(7).dropOut(0.7).build())));
        cases.add(perStep(
                "both directions with drop connect",
                SEQUENCES,
                new Bidirectional(new LSTM.Builder()
                        .nOut(7)
                        .weightNoise(new DropConnect(0.8))
                        .build())));
        cases.add(of(
                "mask zero with steps to mask",
                zeroed(),
                InputType.recurrent(5),
                MaskZeroLayer.class,
                new MaskZeroLayer(lstm(7), 0),
                lstm(6),
                Networks.rnnSoftmax(3)));
        cases.add(perStep("frozen with backprop", SEQUENCES, new FrozenLayerWithBackprop(lstm(7))));
        cases.add(perStep(
                "recurrent attention",
                SEQUENCES,
                new RecurrentAttentionLayer.Builder()
                        .nOut(6)
                        .nHeads(2)
                        .projectInput(true)
                        .activation(Activation.TANH)
                        .build()));
        return cases.stream();
    }

    private static DataSet zeroed() {
        INDArray features = MASKED.getFeatures().dup();
        Nd4j.getExecutioner().exec(new BroadcastMulOp(features, MASKED.getFeaturesMaskArray(), features, 0, 2));
        return new DataSet(features, MASKED.getLabels());
    }

    private static Convolution1DLayer convolution() {
        return new Convolution1DLayer.Builder(3)
                .nOut(7)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.TANH)
                .build();
    }

    static Stream<LayerCase> toVectors() {
        return Stream.of(
                lastStep("last time step", CLASSIFIED, new LastTimeStep(lstm(7))),
                lastStep("last time step of both directions", CLASSIFIED, new LastTimeStep(new Bidirectional(lstm(7)))),
                lastStep(
                        "last time step, simple",
                        CLASSIFIED,
                        new LastTimeStep(new SimpleRnn.Builder().nOut(7).build())),
                lastStep("average over time", CLASSIFIED, new GlobalPoolingLayer(PoolingType.AVG)),
                lastStep("maximum over time", CLASSIFIED, new GlobalPoolingLayer(PoolingType.MAX))
                        .coarse());
    }

    private static LayerCase oneDimensional(String name, Layer layer) {
        return of(
                name,
                new DataSet(SEQUENCES.getFeatures(), Networks.oneHot(8, 3)),
                InputType.recurrent(5, 6),
                layer.getClass(),
                convolution(),
                layer,
                convolution(),
                new GlobalPoolingLayer(PoolingType.AVG),
                Networks.softmax(3));
    }

    static Stream<LayerCase> oneDimensional() {
        return Stream.of(
                oneDimensional(
                        "average pooling",
                        new Subsampling1DLayer.Builder(Subsampling1DLayer.PoolingType.AVG)
                                .kernelSize(2)
                                .stride(2)
                                .build()),
                oneDimensional(
                                "maximum pooling",
                                new Subsampling1DLayer.Builder(Subsampling1DLayer.PoolingType.MAX)
                                        .kernelSize(2)
                                        .stride(2)
                                        .build())
                        .coarse(),
                oneDimensional("upsampling", new Upsampling1D.Builder(2).build()),
                oneDimensional("zero padding", new ZeroPadding1DLayer.Builder(1).build()),
                oneDimensional("cropping", new Cropping1D.Builder(1).build()),
                oneDimensional(
                        "locally connected",
                        new LocallyConnected1D.Builder()
                                .kernelSize(3)
                                .nOut(7)
                                .activation(Activation.TANH)
                                .build()));
    }

    private static DataSet words() {
        INDArray words = Nd4j.create(DataType.FLOAT, 8, 6);
        for (int i = 0; i < words.length(); i++) {
            words.putScalar(i, i * 7 % 20);
        }
        return new DataSet(words, SEQUENCES.getLabels());
    }

    static Stream<LayerCase> sequencesOfWordsAndCopies() {
        return Stream.of(
                of(
                        "words",
                        words(),
                        InputType.recurrent(20),
                        EmbeddingSequenceLayer.class,
                        new EmbeddingSequenceLayer.Builder()
                                .nIn(20)
                                .nOut(7)
                                .inputLength(6)
                                .build(),
                        lstm(6),
                        Networks.rnnSoftmax(3)),
                of(
                        "repeated vector",
                        new DataSet(Networks.vectors(8, 5, 3).getFeatures(), SEQUENCES.getLabels()),
                        InputType.feedForward(5),
                        RepeatVector.class,
                        Networks.dense(7, Activation.TANH),
                        new RepeatVector.Builder<>(6).build(),
                        lstm(6),
                        Networks.rnnSoftmax(3)));
    }

    static Stream<LayerCase> all() {
        return Stream.of(recurrent(), toVectors(), oneDimensional(), sequencesOfWordsAndCopies())
                .flatMap(Function.identity());
    }

    static Stream<LayerCase> inBfloat16() {
        return Stream.of(toVectors(), oneDimensional(), sequencesOfWordsAndCopies())
                .flatMap(Function.identity());
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("all")
    @Override
    void runsWhenForced(LayerCase layer) {
        super.runsWhenForced(layer);
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("all")
    @Override
    void runsInAGraph(LayerCase layer) {
        super.runsInAGraph(layer);
    }
}
