package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Convolution and pooling of sequences {@code [minibatch, time, features]}. DL4J's layers run forward in that format;
 * their backward pass throws, or is wrong where steps and features are of one number. So the gradients of its layers in
 * the other format, with the same parameters, are the reference.
 */
class FeaturesLastTest {
    /** A layer in both formats, and the features of its input. */
    record Pair(Layer last, Layer second, int steps, int features) {
        @Override
        public String toString() {
            return last.getClass().getSimpleName() + " of " + steps + " steps of " + features;
        }
    }

    static Stream<Pair> pairs() {
        return Stream.of(
                new Pair(
                        convolution(3, 1, ConvolutionMode.Truncate, true),
                        convolution(3, 1, ConvolutionMode.Truncate, false),
                        9,
                        4),
                new Pair(
                        convolution(3, 2, ConvolutionMode.Same, true),
                        convolution(3, 2, ConvolutionMode.Same, false),
                        9,
                        4),
                new Pair(
                        convolution(2, 1, ConvolutionMode.Causal, true),
                        convolution(2, 1, ConvolutionMode.Causal, false),
                        8,
                        4),
                new Pair(
                        convolution(1, 1, ConvolutionMode.Truncate, true),
                        convolution(1, 1, ConvolutionMode.Truncate, false),
                        4,
                        4),
                new Pair(
                        pooling(SubsamplingLayer.PoolingType.MAX, ConvolutionMode.Truncate, true),
                        pooling(SubsamplingLayer.PoolingType.MAX, ConvolutionMode.Truncate, false),
                        9,
                        4),
                new Pair(
                        pooling(SubsamplingLayer.PoolingType.AVG, ConvolutionMode.Same, true),
                        pooling(SubsamplingLayer.PoolingType.AVG, ConvolutionMode.Same, false),
                        8,
                        5));
    }

    private static Convolution1DLayer convolution(int kernel, int stride, ConvolutionMode mode, boolean last) {
        return new Convolution1DLayer.Builder(kernel, stride)
                .nIn(4)
                .nOut(4)
                .convolutionMode(mode)
                .activation(Activation.TANH)
                .rnnDataFormat(last ? RNNFormat.NWC : RNNFormat.NCW)
                .build();
    }

    private static Subsampling1DLayer pooling(SubsamplingLayer.PoolingType type, ConvolutionMode mode, boolean last) {
        return new Subsampling1DLayer.Builder(type, 3, 2)
                .convolutionMode(mode)
                .dataFormat(last ? CNN2DFormat.NHWC : CNN2DFormat.NCHW)
                .build();
    }

    private static INDArray turned(INDArray array) {
        return array.permute(0, 2, 1).dup('c');
    }

    private static INDArray mask(int steps) {
        INDArray mask = Nd4j.ones(DataType.FLOAT, 3, steps);
        mask.putScalar(0, steps - 1, 0);
        mask.putScalar(0, steps - 2, 0);
        mask.putScalar(0, steps - 3, 0);
        mask.putScalar(2, 0, 0);
        return mask;
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void itComputesWhatTheOtherFormatDoes(Pair pair) {
        Random random = new Random(1);
        long number = pair.second.initializer().numParams(pair.second);
        INDArray params = number == 0 ? null : gaussian(random, 0.3, number);
        INDArray input = gaussian(random, 1, 3, pair.features, pair.steps);
        for (INDArray mask : new INDArray[] {null, mask(pair.steps)}) {
            org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(pair.second, params);
            dl4j.setMaskArray(mask);
            INDArray epsilon = gaussian(
                    random,
                    1,
                    SingleLayer.dl4j(pair.second, params)
                            .activate(input.dup(), true, LayerWorkspaceMgr.noWorkspaces())
                            .shape());
            SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon);
            for (DataType type : Types.here()) {
                try (EngineSession session = new OneDnnEngine().session(number, true)) {
                    TwinLayer twin = Layers.twin(session, pair.last, params, type);
                    twin.setMaskArray(mask);
                    SingleLayer.Result actual = SingleLayer.run(
                            twin, turned(input).castTo(type), turned(epsilon).castTo(type));
                    double tolerance = type == DataType.FLOAT ? 1e-5 : 0.02;
                    Agreement.assertRoundedOnce(type + " output", expected.output(), turned(actual.output()));
                    Agreement.assertWithin(
                            type + " input", expected.inputGradient(), turned(actual.inputGradient()), tolerance);
                    expected.gradient()
                            .gradientForVariable()
                            .forEach((name, gradient) -> Agreement.assertWithin(
                                    type + " " + name, gradient, actual.gradient(name), tolerance));
                }
            }
        }
    }

    private static MultiLayerNetwork network(RNNFormat format) {
        return Networks.init(Networks.builder(new Sgd(0.05))
                .list()
                .layer(new Convolution1DLayer.Builder(3)
                        .nOut(8)
                        .convolutionMode(ConvolutionMode.Same)
                        .activation(Activation.RELU)
                        .rnnDataFormat(format)
                        .build())
                .layer(new Convolution1DLayer.Builder(2)
                        .nOut(6)
                        .convolutionMode(ConvolutionMode.Causal)
                        .activation(Activation.SWISH)
                        .rnnDataFormat(format)
                        .build())
                .layer(new RnnOutputLayer.Builder()
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .dataFormat(format)
                        .build())
                .setInputType(InputType.recurrent(5, 7, format))
                .build());
    }

    @Test
    void networksTrainAsInTheOtherFormatAndInferAsInStockDl4j() {
        DataSet second = Networks.sequences(4, 5, 3, 7);
        DataSet last = new DataSet(turned(second.getFeatures()), turned(second.getLabels()));
        for (Precision precision : new Precision[] {Precision.FLOAT, Types.halfPrecision()}) {
            double tolerance = precision == Precision.FLOAT ? 1e-5 : 0.03;
            MultiLayerNetwork reference = network(RNNFormat.NCW);
            MultiLayerNetwork own = network(RNNFormat.NWC);
            assertEquals(reference.params(), own.params());
            AmpConfig config = AmpConfig.builder()
                    .engine(OneDnnEngine.NAME)
                    .precision(precision)
                    .build();
            try (MixedPrecision amp = MixedPrecision.enable(own, config)) {
                amp.plan().rows().forEach(row -> assertEquals(OneDnnEngine.NAME, row.engine(), row::toString));
                for (int i = 0; i < 4; i++) {
                    reference.fit(second);
                    own.fit(last);
                    assertEquals(reference.score(), own.score(), tolerance);
                }
            }
            Agreement.assertWithin("parameters", reference.params(), own.params(), tolerance);
            INDArray stock = own.output(last.getFeatures()).dup();
            try (InferenceMode mode = MixedPrecision.inference(own, config)) {
                Agreement.assertWithin("output", stock, own.output(last.getFeatures()), tolerance);
            }
        }
    }

    /** The day on which this fails, the reference is DL4J's own layer. */
    @Test
    void dl4jsBackwardPassFailsOrIsWrong() {
        INDArray params = gaussian(new Random(1), 0.3, 4 * 4 * 3 + 4);
        INDArray input = gaussian(new Random(2), 1, 3, 9, 4);
        Layer layer = convolution(3, 1, ConvolutionMode.Truncate, true);
        assertThrows(
                RuntimeException.class,
                () -> SingleLayer.run(SingleLayer.dl4j(layer, params), input, gaussian(new Random(3), 1, 3, 7, 4)));
        INDArray square = gaussian(new Random(4), 1, 3, 4, 4);
        INDArray epsilon = gaussian(new Random(5), 1, 3, 4, 4);
        INDArray few = params.get(NDArrayIndex.interval(0, 20)).dup();
        INDArray wrong = SingleLayer.run(
                        SingleLayer.dl4j(convolution(1, 1, ConvolutionMode.Truncate, true), few), square, epsilon)
                .inputGradient();
        INDArray right = SingleLayer.run(
                        SingleLayer.dl4j(convolution(1, 1, ConvolutionMode.Truncate, false), few),
                        turned(square),
                        turned(epsilon))
                .inputGradient();
        double difference = Transforms.abs(turned(wrong).sub(right)).maxNumber().doubleValue();
        assertTrue(difference > 0.1, () -> "difference " + difference);
    }
}
