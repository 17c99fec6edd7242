package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Groups of layers that are computed at once in inference, and their results. */
class InferenceGroupsTest {
    private static AmpConfig inFloat() {
        return AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
    }

    private static AmpConfig fastest() {
        return AmpConfig.builder().engine("onednn").build();
    }

    private static ConvolutionLayer convolution(int kernel, int stride, int out, CNN2DFormat format) {
        return new ConvolutionLayer.Builder(kernel, kernel)
                .stride(stride, stride)
                .nOut(out)
                .convolutionMode(ConvolutionMode.Same)
                .hasBias(false)
                .activation(Activation.IDENTITY)
                .dataFormat(format)
                .build();
    }

    private static int[] pixels(CNN2DFormat format) {
        return format == CNN2DFormat.NCHW ? new int[] {2, 3} : new int[] {1, 2};
    }

    private static BatchNormalization normalization(CNN2DFormat format) {
        return new BatchNormalization.Builder().dataFormat(format).build();
    }

    /** A stem, a block with a projection and one without: 6 convolutions. */
    private static ComputationGraphConfiguration resnet(CNN2DFormat format) {
        var graph = Networks.builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(12, 12, 3, format));
        normalized(graph, "stem", convolution(3, 1, 16, format), "in", format);
        graph.addLayer("stem_relu", new ActivationLayer(Activation.RELU), "stem_bn");
        String shortcut = "stem_relu";
        for (int block = 0; block < 2; block++) {
            String name = "block" + block;
            int stride = block == 0 ? 2 : 1;
            String projected = shortcut;
            if (block == 0) {
                normalized(graph, name + "_projection", convolution(1, stride, 32, format), shortcut, format);
                projected = name + "_projection_bn";
            }
            normalized(graph, name + "_a", convolution(1, stride, 16, format), shortcut, format);
            graph.addLayer(name + "_a_relu", new ActivationLayer(Activation.RELU), name + "_a_bn");
            normalized(graph, name + "_b", convolution(3, 1, 32, format), name + "_a_relu", format);
            graph.addVertex(name + "_add", new ElementWiseVertex(ElementWiseVertex.Op.Add), name + "_b_bn", projected);
            graph.addLayer(name + "_relu", new ActivationLayer(Activation.RELU), name + "_add");
            shortcut = name + "_relu";
        }
        return graph.addLayer(
                        "pool",
                        new GlobalPoolingLayer.Builder(PoolingType.AVG)
                                .poolingDimensions(pixels(format))
                                .build(),
                        shortcut)
                .addLayer("out", Networks.softmax(3), "pool")
                .setOutputs("out")
                .build();
    }

    private static void normalized(
            ComputationGraphConfiguration.GraphBuilder graph,
            String name,
            ConvolutionLayer layer,
            String input,
            CNN2DFormat format) {
        graph.addLayer(name, layer, input).addLayer(name + "_bn", normalization(format), name);
    }

    private static DataSet images(CNN2DFormat format) {
        DataSet images = Networks.images(6, 3, 12, 3);
        return format == CNN2DFormat.NCHW
                ? images
                : new DataSet(images.getFeatures().permute(0, 2, 3, 1).dup('c'), images.getLabels());
    }

    private static ComputationGraph trained(CNN2DFormat format) {
        ComputationGraph graph = Networks.init(resnet(format));
        for (int i = 0; i < 8; i++) {
            graph.fit(images(format));
        }
        return graph;
    }

    private static void assertClose(INDArray expected, INDArray actual, double bound) {
        double difference = expected.sub(actual).amaxNumber().doubleValue();
        assertTrue(difference <= bound, () -> "off by " + difference + ", bound " + bound);
    }

    @ParameterizedTest
    @MethodSource("formats")
    void residualBlocksGiveStockDl4jsProbabilities(CNN2DFormat format) {
        ComputationGraph graph = trained(format);
        INDArray features = images(format).getFeatures();
        INDArray expected = graph.outputSingle(features);
        try (InferenceMode mode = MixedPrecision.inference(graph, inFloat())) {
            for (int i = 0; i < 3; i++) {
                assertClose(expected, graph.outputSingle(features), 1e-5);
            }
            // Activations that DL4J returns stay as they are.
            INDArray block = graph.feedForward(features, false).get("block0_relu");
            INDArray copy = block.dup();
            graph.outputSingle(features.mul(2));
            assertEquals(copy, block);
        }
        try (InferenceMode mode = MixedPrecision.inference(graph, fastest())) {
            for (int i = 0; i < 3; i++) {
                assertClose(expected, graph.outputSingle(features), 0.01);
            }
        }
    }

    private static Stream<CNN2DFormat> formats() {
        return Stream.of(CNN2DFormat.NCHW, CNN2DFormat.NHWC);
    }

    @ParameterizedTest
    @MethodSource("formats")
    void aResidualNetworkRunsOnePassForEachConvolution(CNN2DFormat format) {
        ComputationGraph graph = trained(format);
        INDArray features = images(format).getFeatures();
        try (InferenceMode mode = MixedPrecision.inference(graph, inFloat())) {
            graph.outputSingle(features);
            List<String> passes = Passes.of(() -> graph.outputSingle(features));
            assertEquals(
                    6,
                    passes.stream().filter(pass -> pass.contains("convolution")).count(),
                    passes::toString);
            assertEquals(
                    2,
                    passes.stream()
                            .filter(pass -> pass.contains("and a sum in place"))
                            .count(),
                    passes::toString);
            assertEquals(
                    9,
                    passes.size(),
                    () -> "and one for the pooling, product and softmax of the output layer: " + passes);
            String plan = mode.plan().toString();
            assertTrue(plan.contains("folded into \"block0_b\""), plan);
            assertTrue(plan.contains("computed by \"block0_b\""), plan);
        }
    }

    @Test
    void activationsOfAnyLayerCanBeAskedForAndKept() {
        ComputationGraph graph = trained(CNN2DFormat.NCHW);
        INDArray features = images(CNN2DFormat.NCHW).getFeatures();
        INDArray expected = graph.feedForward(features, false).get("block0_relu");
        int vertex = graph.getVertex("block0_relu").getVertexIndex();
        try (InferenceMode mode = MixedPrecision.inference(graph, inFloat())) {
            INDArray kept =
                    graph.feedForward(new INDArray[] {features}, vertex, false).get("block0_relu");
            graph.outputSingle(features.mul(2));
            assertClose(expected, kept, 1e-5);
        }
    }

    private record Subject(String name, MultiLayerNetwork network, DataSet data) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Subject subject(String name, InputType input, DataSet data, List<?> layers) {
        var list = Networks.builder(new Adam(1e-3)).list();
        for (Object layer : layers) {
            list.layer((org.deeplearning4j.nn.conf.layers.Layer) layer);
        }
        MultiLayerNetwork network = Networks.init(
                list.layer(Networks.softmax(3)).setInputType(input).build());
        for (int i = 0; i < 8; i++) {
            network.fit(data);
        }
        return new Subject(name, network, data);
    }

    private static Stream<Subject> chains() {
        List<Subject> subjects = new ArrayList<>();
        for (CNN2DFormat format : CNN2DFormat.values()) {
            InputType input = InputType.convolutional(12, 12, 3, format);
            subjects.add(subject(
                    "ELU " + format,
                    input,
                    images(format),
                    List.of(
                            convolution(3, 1, 8, format),
                            normalization(format),
                            new ActivationLayer(Activation.ELU),
                            convolution(3, 2, 8, format),
                            new ActivationLayer(Activation.SOFTSIGN),
                            new GlobalPoolingLayer.Builder(PoolingType.MAX)
                                    .poolingDimensions(pixels(format))
                                    .build())));
        }
        InputType input = InputType.convolutional(12, 12, 3);
        subjects.add(subject(
                "depthwise",
                input,
                images(CNN2DFormat.NCHW),
                List.of(
                        new DepthwiseConvolution2D.Builder(3, 3)
                                .depthMultiplier(2)
                                .nOut(6)
                                .activation(Activation.IDENTITY)
                                .build(),
                        normalization(CNN2DFormat.NCHW),
                        new ActivationLayer(Activation.RELU6),
                        new SeparableConvolution2D.Builder(3, 3)
                                .nOut(8)
                                .activation(Activation.IDENTITY)
                                .build(),
                        normalization(CNN2DFormat.NCHW),
                        new GlobalPoolingLayer(PoolingType.AVG))));
        subjects.add(subject(
                "dense",
                InputType.feedForward(20),
                Networks.vectors(8, 20, 3),
                List.of(
                        Networks.dense(16, Activation.IDENTITY),
                        new BatchNormalization(),
                        new ActivationLayer(Activation.TANH),
                        Networks.dense(12, Activation.IDENTITY),
                        new BatchNormalization())));
        return subjects.stream();
    }

    @ParameterizedTest
    @MethodSource("chains")
    void chainsGiveStockDl4jsProbabilities(Subject subject) {
        INDArray features = subject.data.getFeatures();
        INDArray expected = subject.network.output(features);
        try (InferenceMode mode = MixedPrecision.inference(subject.network, inFloat())) {
            assertTrue(mode.plan().toString().contains("folded into"), () -> mode.plan()
                    .toString());
            for (int i = 0; i < 3; i++) {
                assertClose(expected, subject.network.output(features), 1e-5);
            }
        }
        try (InferenceMode mode = MixedPrecision.inference(subject.network, fastest())) {
            assertClose(expected, subject.network.output(features), 0.01);
        }
    }

    /** DL4J requires each layer of such a network to have its activations in a workspace of its own. */
    @Test
    void aChainPassesResultsOnWithoutACopy() {
        MultiLayerNetwork network = chains().filter(subject -> subject.name.equals("dense"))
                .findFirst()
                .orElseThrow()
                .network;
        INDArray features = Networks.vectors(8, 20, 3).getFeatures();
        try (InferenceMode mode = MixedPrecision.inference(network, inFloat())) {
            INDArray kept = network.output(features);
            INDArray copy = kept.dup();
            List<String> passes = Passes.of(() -> network.output(features.mul(2)));
            assertEquals(4, passes.size(), () -> "three products and softmax: " + passes);
            assertEquals(copy, kept, "a result stays as it is");
            assertEquals(copy, network.output(features));
        }
    }

    @Test
    void aSummandThatIsBroadcastIsLeftToTheVertex() {
        ComputationGraph graph = Networks.init(Networks.builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs("a", "b")
                .setInputTypes(InputType.feedForward(6), InputType.feedForward(6))
                .addLayer("first", Networks.dense(6, Activation.TANH), "a")
                .addLayer("second", Networks.dense(6, Activation.IDENTITY), "b")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "second", "first")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "add")
                .addLayer("out", Networks.softmax(3), "relu")
                .setOutputs("out")
                .build());
        INDArray several = Networks.vectors(4, 6, 3).getFeatures();
        INDArray one = Networks.vectors(1, 6, 3).getFeatures();
        INDArray expected = graph.output(several, several)[0];
        INDArray broadcast = graph.output(one, several)[0];
        try (InferenceMode mode = MixedPrecision.inference(graph, inFloat())) {
            assertClose(expected, graph.output(several, several)[0], 1e-5);
            assertClose(broadcast, graph.output(one, several)[0], 1e-5);
            assertClose(expected, graph.output(several, several)[0], 1e-5);
        }
    }

    /** DL4J may pass such views, as of one row for all examples. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSummandThatIsAViewWithStrideZeroIsAddedOnce(boolean normalized) {
        var builder = Networks.builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs("a", "b")
                .setInputTypes(InputType.feedForward(6), InputType.feedForward(6))
                .addLayer("dense", Networks.dense(6, Activation.IDENTITY), "b");
        if (normalized) {
            builder.addLayer("bn", new BatchNormalization(), "dense");
        }
        ComputationGraph graph = Networks.init(builder.addVertex(
                        "add", new ElementWiseVertex(ElementWiseVertex.Op.Add), normalized ? "bn" : "dense", "a")
                .addLayer("tanh", new ActivationLayer(Activation.TANH), "add")
                .addLayer("out", Networks.softmax(3), "tanh")
                .setOutputs("out")
                .build());
        INDArray features = Networks.vectors(4, 6, 3).getFeatures();
        INDArray row = Networks.vectors(1, 6, 3).getFeatures();
        INDArray view = Nd4j.create(row.data(), new long[] {4, 6}, new long[] {0, 1}, 0, 'c');
        INDArray expected = graph.output(view.dup(), features)[0];
        try (InferenceMode mode = MixedPrecision.inference(graph, inFloat())) {
            assertTrue(mode.plan().toString().contains("the sum of"), () -> mode.plan()
                    .toString());
            for (int i = 0; i < 3; i++) {
                assertClose(expected, graph.output(view, features)[0], 1e-5);
            }
        }
    }

    @Test
    void weightsAreRoundedAndArrangedOnce() {
        ComputationGraph graph = trained(CNN2DFormat.NCHW);
        INDArray features = images(CNN2DFormat.NCHW).getFeatures();
        try (InferenceMode mode = MixedPrecision.inference(graph, fastest())) {
            List<String> first = Passes.copies(() -> graph.outputSingle(features));
            assertEquals(
                    6,
                    first.stream().filter(copy -> copy.contains("convolution")).count(),
                    first::toString);
            List<String> second = Passes.copies(() -> graph.outputSingle(features));
            assertEquals(
                    0,
                    second.stream().filter(copy -> copy.contains("convolution")).count(),
                    second::toString);
        }
    }
}
