package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.util.MaskLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.IWeightNoise;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;

/** This engine's reasons in plans, with the name of the planned precision. */
class ReasonsTest {
    private static final String OWN_NOISE = "weight noise of " + OwnNoise.class.getName();

    /** A class of the user's, which may do anything. */
    private static final class OwnNoise implements IWeightNoise {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray getParameter(
                org.deeplearning4j.nn.api.Layer layer,
                String name,
                int iteration,
                int epoch,
                boolean training,
                LayerWorkspaceMgr workspaceMgr) {
            return layer.getParam(name).mul(2);
        }

        @Override
        public IWeightNoise clone() {
            return new OwnNoise();
        }
    }

    /** A layer that has no kernel in a precision, and why. */
    private record Refusal(Layer layer, Precision precision, String reason) {
        @Override
        public String toString() {
            return layer.getClass().getSimpleName() + ", " + precision + ": " + reason;
        }
    }

    /** A layer that has no kernel in any precision. */
    private static Stream<Refusal> both(Layer layer, String reason) {
        return Stream.of(Precision.BFLOAT16, Precision.FLOAT).map(precision -> new Refusal(layer, precision, reason));
    }

    private static Stream<Refusal> refusals() {
        return Stream.of(products(), recurrent(), pooling(), others()).flatMap(refusals -> refusals);
    }

    private static Stream<Refusal> products() {
        return Stream.of(
                        both(dense().weightNoise(new OwnNoise()).build(), OWN_NOISE),
                        both(new FrozenLayer(dense().weightNoise(new OwnNoise()).build()), OWN_NOISE),
                        both(
                                new Deconvolution2D.Builder(1, 1)
                                        .stride(3, 3)
                                        .nOut(4)
                                        .convolutionMode(ConvolutionMode.Same)
                                        .build(),
                                "strides in mode Same that are larger than the kernel by two or more"),
                        both(volume(7, 2), "kernels of 7 or more with strides"),
                        Stream.of(new Refusal(volume(3, 1), Precision.BFLOAT16, "volumes spread out in BFLOAT16")))
                .flatMap(refusals -> refusals);
    }

    private static DenseLayer.Builder dense() {
        return new DenseLayer.Builder().nIn(4).nOut(4).activation(Activation.RELU);
    }

    private static Deconvolution3D volume(int kernel, int stride) {
        return new Deconvolution3D.Builder()
                .kernelSize(kernel, kernel, kernel)
                .stride(stride, stride, stride)
                .nOut(4)
                .activation(Activation.RELU)
                .build();
    }

    private static Stream<Refusal> recurrent() {
        return Stream.of(
                        both(
                                lstm().activation(Activation.RRELU).build(),
                                "activation function " + Activation.RRELU.getActivationFunction()
                                        + " in recurrent layers"),
                        both(
                                new RecurrentAttentionLayer.Builder()
                                        .nIn(4)
                                        .nOut(4)
                                        .nHeads(1)
                                        .activation(Activation.SWISH)
                                        .build(),
                                "activation function SWISH in recurrent attention"),
                        both(new LastTimeStep(lstm().weightNoise(new OwnNoise()).build()), OWN_NOISE),
                        both(
                                new SimpleRnn.Builder()
                                        .nIn(4)
                                        .nOut(4)
                                        .hasLayerNorm(true)
                                        .build(),
                                "layer normalization"),
                        both(
                                new Bidirectional(lstm().dropOut(0.5)
                                        .dataFormat(RNNFormat.NWC)
                                        .build()),
                                "dropout of each direction by itself in format NWC"),
                        both(
                                new Bidirectional(lstm().dropOut(0.5)
                                        .weightNoise(new DropConnect(0.5))
                                        .build()),
                                "dropout of each direction, between whose draws DL4J draws weight noise"),
                        Stream.of(Precision.BFLOAT16, Precision.FLOAT)
                                .map(precision -> new Refusal(
                                        new MaskZeroLayer(
                                                new Convolution1DLayer.Builder(3)
                                                        .nOut(4)
                                                        .rnnDataFormat(RNNFormat.NWC)
                                                        .build(),
                                                0),
                                        precision,
                                        "DL4J takes features for time steps when it masks Convolution1DLayer in"
                                                + " format NWC")),
                        Stream.of(Precision.BFLOAT16, Precision.FLOAT)
                                .map(precision -> new Refusal(
                                        new MaskZeroLayer(
                                                new Bidirectional(lstm().dataFormat(RNNFormat.NWC)
                                                        .build()),
                                                0),
                                        precision,
                                        "DL4J takes features for time steps when it masks Bidirectional in format"
                                                + " NWC")))
                .flatMap(refusals -> refusals);
    }

    private static LSTM.Builder lstm() {
        return new LSTM.Builder().nIn(4).nOut(4).activation(Activation.TANH);
    }

    private static Stream<Refusal> pooling() {
        SubsamplingLayer sums = new SubsamplingLayer.Builder(2, 2).build();
        sums.setPoolingType(PoolingType.SUM);
        return Stream.of(
                        both(
                                new GlobalPoolingLayer.Builder(PoolingType.PNORM)
                                        .pnorm(1)
                                        .build(),
                                "PNORM pooling with p = 1, only 2 to 8"),
                        both(sums, "SUM pooling"),
                        both(
                                new Subsampling1DLayer.Builder(PoolingType.MAX, 2, 2, 1).build(),
                                "padded pooling of sequences"),
                        both(
                                new Subsampling1DLayer.Builder(2, 2)
                                        .convolutionMode(ConvolutionMode.Causal)
                                        .build(),
                                "causal pooling"))
                .flatMap(refusals -> refusals);
    }

    private static PrimaryCapsules capsules(int stride, ConvolutionMode mode) {
        return new PrimaryCapsules.Builder(2, 2, new int[] {1, 1}, new int[] {stride, stride})
                .convolutionMode(mode)
                .build();
    }

    private static Stream<Refusal> others() {
        return Stream.of(
                        both(
                                new OutputLayer.Builder()
                                        .nOut(4)
                                        .weightNoise(new OwnNoise())
                                        .build(),
                                OWN_NOISE),
                        both(new MaskLayer(), "MaskLayer"),
                        both(capsules(1, ConvolutionMode.Causal), "causal windows of images"),
                        both(
                                capsules(3, ConvolutionMode.Same),
                                "strides in mode Same that are larger than the kernel by two or more"),
                        Stream.of(new Refusal(
                                new ElementWiseMultiplicationLayer.Builder()
                                        .nIn(4)
                                        .nOut(4)
                                        .dropOut(0.5)
                                        .build(),
                                Precision.FLOAT,
                                "DL4J applies dropout of element-wise multiplications in the backward pass only")))
                .flatMap(refusals -> refusals);
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aLayerWithoutKernelSaysForWhatThereIsNone(Refusal refusal) {
        String words = refusal.reason.startsWith("DL4J") ? refusal.reason : "it has no kernel for " + refusal.reason;
        assertEquals(Optional.of(words), Coverage.without(refusal.layer, refusal.precision));
        assertNamesNoOther(refusal.precision, words);
    }

    /** Volumes are spread out in FP32: what isn't there in BFLOAT16 only is named in its plans only. */
    @ParameterizedTest
    @EnumSource(
            value = Precision.class,
            names = {"BFLOAT16", "FLOAT"})
    void reasonsForWhatIsComputedNameThePlannedPrecisionOnly(Precision precision) {
        if (precision == Precision.FLOAT) {
            assertEquals(Optional.empty(), Coverage.without(volume(3, 1), precision));
        }
        OneDnnEngine engine = new OneDnnEngine();
        for (Layer layer : new Layer[] {
            dense().build(),
            dense().activation(Activation.SOFTMAX).build(),
            new ActivationLayer(Activation.SOFTMAX),
            new TimeDistributed(dense().build()),
            new MaskZeroLayer(lstm().dataFormat(RNNFormat.NWC).build(), 0),
            lstm().build(),
            lstm().gateActivationFunction(Activation.SOFTMAX).build(),
            new BatchNormalization(),
            new OutputLayer.Builder().nOut(4).build(),
            embedding(new EmbeddingLayer.Builder()),
            embedding(new EmbeddingSequenceLayer.Builder()),
            new SubsamplingLayer.Builder(2, 2).build()
        }) {
            assertEquals(Optional.empty(), Coverage.without(layer, precision), layer::toString);
            String how = engine.how(layer, precision);
            assertFalse(how.isBlank());
            assertNamesNoOther(precision, how);
        }
    }

    private static Layer embedding(FeedForwardLayer.Builder<?> builder) {
        return builder.nIn(9).nOut(4).activation(Activation.IDENTITY).build();
    }

    private static void assertNamesNoOther(Precision precision, String words) {
        for (Precision other : new Precision[] {Precision.HALF, Precision.BFLOAT16}) {
            if (other != precision) {
                assertFalse(words.matches("(?s).*\\b" + other + "\\b.*"), precision + ": " + words);
            }
        }
    }
}
