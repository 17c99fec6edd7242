package org.dl4jamp.onednn.twin;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex.Op;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Passes;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.normalization.BatchNormTwin;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
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
 * Batch normalization or residual sum, and the ReLU layer after it, in one pass; and gradients that are lent, or that
 * DL4J adds up.
 */
class FusionTest {
    private static final AmpConfig FLOAT =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();

    private static final AmpConfig HALF = AmpConfig.builder()
            .precision(Types.halfPrecision())
            .engine("onednn")
            .build();

    private static MultiLayerConfiguration chain() {
        return new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(7)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(Networks.dense(9, Activation.IDENTITY))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(8, 8, 2))
                .build();
    }

    private static ConvolutionLayer convolution(int channels) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(channels)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.IDENTITY)
                .build();
    }

    /**
     * Two residual blocks, the second with a convolution in its shortcut, and a merge of what three others take too.
     */
    private static ComputationGraphConfiguration residual() {
        return new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(8, 8, 2))
                .addLayer("stem", convolution(6), "in")
                .addLayer("a", convolution(6), "stem")
                .addLayer("aNorm", new BatchNormalization(), "a")
                .addLayer("aRelu", new ActivationLayer(Activation.RELU), "aNorm")
                .addLayer("b", convolution(6), "aRelu")
                .addVertex("sum", new ElementWiseVertex(Op.Add), "b", "stem")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "sum")
                .addLayer("c", convolution(5), "relu")
                .addLayer("shortcut", convolution(5), "relu")
                .addVertex("sum2", new ElementWiseVertex(Op.Add), "c", "shortcut")
                .addLayer("relu2", new ActivationLayer(Activation.RELU), "sum2")
                .addVertex("merge", new MergeVertex(), "relu2", "relu", "sum2")
                .addLayer("dense", Networks.dense(10, Activation.TANH), "merge")
                .addLayer("out", Networks.softmax(3), "dense")
                .setOutputs("out")
                .build();
    }

    private static DataSet images() {
        INDArray labels = Nd4j.create(DataType.FLOAT, 5, 3);
        for (int i = 0; i < 5; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        return new DataSet(gaussian(new Random(1), 1, 5, 2, 8, 8), labels);
    }

    @Test
    void thePlanTellsWhatIsComputedInOnePass() {
        ComputationGraph network = Networks.init(residual());
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            // The second sum has another consumer, which reads it without ReLU.
            assertEquals(
                    List.of(new PrecisionPlan.Fusion("aNorm", "aRelu"), new PrecisionPlan.Fusion("sum", "relu")),
                    amp.plan().fusions());
            assertTrue(amp.plan().row("sum").reason().endsWith("; in training in one pass with \"relu\""));
            assertTrue(amp.plan().row("relu").reason().endsWith("; in training computed by \"sum\""));
            assertEquals("onednn", amp.plan().row("merge").engine());
        }
    }

    @Test
    void aChainTrainsAsInDl4j() {
        MultiLayerNetwork own = Networks.init(chain());
        MultiLayerNetwork fused = own.clone();
        DataSet images = images();
        try (MixedPrecision amp = MixedPrecision.enable(fused, FLOAT)) {
            assertEquals(2, amp.plan().fusions().size());
            for (int i = 0; i < 4; i++) {
                own.fit(images);
                fused.fit(images);
            }
        }
        Agreement.assertWithin("parameters", own.params(), fused.params(), 1e-5);
    }

    /** Returns a chain in which the layer behind each ReLU may lend the gradient to batch normalization. */
    private static MultiLayerConfiguration chainOfOurs(CNN2DFormat format) {
        return new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .list()
                .layer(convolution(6, format))
                .layer(normalization(format))
                .layer(new ActivationLayer(Activation.RELU))
                .layer(convolution(9, format))
                .layer(normalization(format))
                .layer(new ActivationLayer(Activation.RELU))
                .layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .dataFormat(format)
                        .build())
                .layer(Networks.dense(12, Activation.IDENTITY))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(Networks.dense(7, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(8, 8, 2, format))
                .build();
    }

    private static ConvolutionLayer convolution(int channels, CNN2DFormat format) {
        ConvolutionLayer layer = convolution(channels);
        layer.setCnn2dDataFormat(format);
        return layer;
    }

    private static BatchNormalization normalization(CNN2DFormat format) {
        return new BatchNormalization.Builder().dataFormat(format).build();
    }

    @ParameterizedTest
    @EnumSource(CNN2DFormat.class)
    void aChainOfOursTrainsAsInDl4j(CNN2DFormat format) {
        MultiLayerNetwork own = Networks.init(chainOfOurs(format));
        MultiLayerNetwork fused = own.clone();
        DataSet nchw = images();
        DataSet images = format == CNN2DFormat.NCHW
                ? nchw
                : new DataSet(nchw.getFeatures().permute(0, 2, 3, 1).dup(), nchw.getLabels());
        try (MixedPrecision amp = MixedPrecision.enable(fused, FLOAT)) {
            assertEquals(3, amp.plan().fusions().size());
            for (int i = 0; i < 4; i++) {
                own.fit(images);
                fused.fit(images);
            }
            Agreement.assertWithin("parameters", own.params(), fused.params(), 1e-5);
            List<String> passes = Passes.of(() -> fused.fit(images));
            own.fit(images);
            assertEquals(6, count(passes, "batch normalization and ReLU"), "forward and backward of three");
            assertEquals(0, count(passes, "eltwise_relu"), passes::toString);
            // Another size of minibatch, and one without workspaces.
            DataSet some = new DataSet(
                    images.getFeatures().get(NDArrayIndex.interval(0, 3)),
                    images.getLabels().get(NDArrayIndex.interval(0, 3)));
            fused.getLayerWiseConfigurations().setTrainingWorkspaceMode(WorkspaceMode.NONE);
            own.fit(some);
            fused.fit(some);
        }
        Agreement.assertWithin("parameters", own.params(), fused.params(), 1e-5);
    }

    /** So many numbers of a channel that their statistics come from slices, and ReLU's mask from the pass behind. */
    @Test
    void aReluBehindStatisticsOfLargeImagesTrainsAsInDl4j() {
        MultiLayerNetwork own = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.1))
                .list()
                .layer(convolution(4))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(new GlobalPoolingLayer(PoolingType.AVG))
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(143, 145, 2))
                .build());
        MultiLayerNetwork fused = own.clone();
        DataSet images = new DataSet(
                gaussian(new Random(1), 1, 2, 2, 143, 145), Nd4j.createFromArray(new float[][] {{1, 0, 0}, {0, 0, 1}}));
        try (MixedPrecision amp = MixedPrecision.enable(fused, FLOAT)) {
            assertEquals(1, amp.plan().fusions().size());
            List<String> passes = Passes.of(() -> fused.fit(images));
            assertEquals(3, count(passes, "statistics"), passes::toString);
            own.fit(images);
            own.fit(images);
            fused.fit(images);
        }
        Agreement.assertWithin("parameters", own.params(), fused.params(), 1e-5);
    }

    private static long count(List<String> passes, String what) {
        return passes.stream().filter(pass -> pass.contains(what)).count();
    }

    @Test
    void aChainOfOursTrainsInBfloat16() {
        MultiLayerNetwork own = Networks.init(chainOfOurs(CNN2DFormat.NCHW));
        MultiLayerNetwork half = own.clone();
        DataSet images = images();
        try (MixedPrecision amp = MixedPrecision.enable(half, HALF)) {
            assertEquals(3, amp.plan().fusions().size());
            for (int i = 0; i < 40; i++) {
                own.fit(images);
                half.fit(images);
            }
        }
        assertEquals(own.score(images), half.score(images), 0.05 * own.score(images) + 1e-3);
    }

    static Stream<Arguments> typesWithGradientsLentAndNot() {
        return Types.here().stream().flatMap(type -> Stream.of(arguments(type, true), arguments(type, false)));
    }

    /** Forward and backward, layer by layer, with the gradient lent and with the gradient in a workspace. */
    @ParameterizedTest
    @MethodSource("typesWithGradientsLentAndNot")
    void reluHandsOnGradientsThatAreLentAndDerivesOthers(DataType type, boolean lends) {
        LayerWorkspaceMgr none = LayerWorkspaceMgr.noWorkspaces();
        Random random = new Random(7);
        BatchNormalization conf =
                new BatchNormalization.Builder().nIn(5).nOut(5).build();
        ActivationLayer relu = new ActivationLayer(Activation.RELU);
        INDArray params = Transforms.abs(gaussian(random, 0.5, 20));
        INDArray x = gaussian(random, 2, 3, 5, 4, 6);
        INDArray epsilon = gaussian(random, 1, 3, 5, 4, 6);

        org.deeplearning4j.nn.api.Layer norm = SingleLayer.dl4j(conf, params);
        INDArray between = norm.activate(x.dup(), true, none);
        // Rounding to BFLOAT16 leaves signs as they are.
        INDArray expected = norm.backpropGradient(epsilon.mul(between.gt(0).castTo(DataType.FLOAT)), none)
                .getSecond();

        try (OneDnnContext context = new OneDnnContext()) {
            FusedRelu fused = new FusedRelu();
            BatchNormTwin first = new BatchNormTwin(norm.conf(), type, context);
            ActivationTwin then =
                    new ActivationTwin(SingleLayer.dl4j(relu, null).conf(), type, context);
            first.fuse(fused);
            then.fuse(fused);
            then.outputStays();
            INDArray master = params.dup().reshape(1, 20);
            first.setParamsViewArray(master);
            first.setParamTable(conf.initializer().init(norm.conf(), master, false));
            first.setBackpropGradientsViewArray(Nd4j.create(DataType.FLOAT, 1, 20));

            INDArray output = first.activate(x.castTo(type), true, none);
            assertSame(output, then.activate(output, true, none), "ReLU has been applied");
            Agreement.assertRoundedOnce("output", Transforms.relu(between, true), output);

            INDArray given = lends
                    ? context.lentGradients().lend(this, Layout.channelsLast(type, epsilon.shape()))
                    : Nd4j.create(type, epsilon.shape());
            given.assign(epsilon);
            INDArray handedOn = then.backpropGradient(given, none).getSecond();
            assertEquals(lends, handedOn == given);
            INDArray actual = first.backpropGradient(handedOn, none).getSecond();
            Agreement.assertRoundedOnce("input gradient", expected, actual);
            for (String parameter : norm.paramTable().keySet()) {
                Agreement.assertWithin(parameter, norm.getGradientsViewArray(), first.getGradientsViewArray(), 1e-5);
            }
            assertFalse(context.lentGradients().contain(given), "given back");
            then.close();
            first.close();
        }
    }

    @Test
    void aGraphWithForksTrainsAsInDl4j() {
        ComputationGraph own = Networks.init(residual());
        ComputationGraph fused = own.clone();
        DataSet images = images();
        try (MixedPrecision amp = MixedPrecision.enable(fused, FLOAT)) {
            for (int i = 0; i < 4; i++) {
                own.fit(images);
                fused.fit(images);
            }
            Agreement.assertWithin("parameters", own.params(), fused.params(), 1e-5);
            List<String> passes = Passes.of(() -> fused.fit(images));
            assertEquals(2, count(passes, "batch normalization and ReLU"), passes::toString);
            // "relu" and "relu2" have several consumers, so no gradient is lent; "relu2" follows a sum with another
            // consumer.
            assertEquals(0, count(passes, "name: aRelu"), passes::toString);
            assertEquals(3, count(passes, "eltwise_relu"), passes::toString);
        }
    }

    @Test
    void aGraphWithForksTrainsInBfloat16() {
        ComputationGraph own = Networks.init(residual());
        ComputationGraph half = own.clone();
        DataSet images = images();
        try (MixedPrecision amp = MixedPrecision.enable(half, HALF)) {
            assertEquals(Types.halfPrecision(), amp.plan().row("sum").precision());
            for (int i = 0; i < 40; i++) {
                own.fit(images);
                half.fit(images);
            }
        }
        assertEquals(own.score(images), half.score(images), 0.05 * own.score(images) + 1e-3);
    }

    @Test
    void inInferenceEachLayerGivesItsOwnActivations() {
        MultiLayerNetwork own = Networks.init(chain());
        MultiLayerNetwork fused = own.clone();
        INDArray x = images().getFeatures();
        try (MixedPrecision amp = MixedPrecision.enable(fused, FLOAT)) {
            List<INDArray> actual = fused.feedForward(x, false);
            assertTrue(actual.get(2).minNumber().doubleValue() < 0);
            assertEquals(Transforms.relu(actual.get(2), true), actual.get(3));
            Agreement.assertWithin("output", own.output(x), fused.output(x), 1e-5);
            List<INDArray> training = fused.feedForward(x, true);
            assertEquals(training.get(3), training.get(2), "in training batch normalization and ReLU are one");
        }
    }
}
