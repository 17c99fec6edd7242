package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Layers in no group, whose results are in places in inference. */
class InferencePlacesTest {
    private static final int[] MINIBATCHES = {1, 3, 1, 8, 2, 1};

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static ConvolutionLayer convolution(int kernel, int out, CNN2DFormat format) {
        return new ConvolutionLayer.Builder(kernel, kernel)
                .nOut(out)
                .activation(Activation.RELU)
                .dataFormat(format)
                .build();
    }

    private static SubsamplingLayer pooling(CNN2DFormat format) {
        return new SubsamplingLayer.Builder(2, 2)
                .stride(2, 2)
                .dataFormat(format)
                .build();
    }

    private static ZeroPaddingLayer padding(CNN2DFormat format) {
        ZeroPaddingLayer padding = new ZeroPaddingLayer(2, 1);
        padding.setDataFormat(format);
        return padding;
    }

    /** Convolutions, poolings and dense layers in a row, between which DL4J flattens images. */
    private static MultiLayerNetwork chain(CNN2DFormat format, WorkspaceMode workspaces) {
        return Networks.init(Networks.builder(new Sgd(1e-2))
                .inferenceWorkspaceMode(workspaces)
                .list()
                .layer(padding(format))
                .layer(convolution(3, 6, format))
                .layer(pooling(format))
                .layer(convolution(3, 10, format))
                .layer(pooling(format))
                .layer(Networks.dense(14, Activation.TANH))
                .layer(Networks.dense(9, Activation.RELU))
                .layer(Networks.softmax(4))
                .setInputType(InputType.convolutional(12, 12, 3, format))
                .build());
    }

    /** A pooling that two convolutions read, one of which is added to the other. */
    private static ComputationGraph branches(CNN2DFormat format) {
        ConvolutionLayer plain = convolution(1, 6, format);
        plain.setActivationFn(Activation.IDENTITY.getActivationFunction());
        return Networks.init(Networks.builder(new Sgd(1e-2))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(12, 12, 3, format))
                .addLayer("pad", padding(format), "in")
                .addLayer("stem", convolution(3, 6, format), "pad")
                .addLayer("pool", pooling(format), "stem")
                .addLayer("left", convolution(1, 6, format), "pool")
                .addLayer("right", plain, "pool")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "left", "right")
                .addLayer("tail", convolution(3, 5, format), "add")
                .addLayer("last", pooling(format), "tail")
                .addLayer("dense", Networks.dense(7, Activation.TANH), "last")
                .addLayer("out", Networks.softmax(4), "dense")
                .setOutputs("out")
                .build());
    }

    private static INDArray images(int examples, CNN2DFormat format) {
        INDArray images = Networks.images(examples, 3, 12, 4).getFeatures();
        return format == CNN2DFormat.NCHW ? images : images.permute(0, 2, 3, 1).dup('c');
    }

    private static void assertClose(INDArray expected, INDArray actual, double bound) {
        double difference = expected.sub(actual).amaxNumber().doubleValue();
        assertTrue(difference <= bound, () -> "off by " + difference + ", bound " + bound);
    }

    @ParameterizedTest
    @EnumSource(CNN2DFormat.class)
    void aChainGivesStockDl4jsProbabilitiesForMinibatchesOfChangingSizes(CNN2DFormat format) {
        for (WorkspaceMode workspaces : List.of(WorkspaceMode.ENABLED, WorkspaceMode.NONE)) {
            MultiLayerNetwork network = chain(format, workspaces);
            List<INDArray> expected = IntStream.of(MINIBATCHES)
                    .mapToObj(examples -> network.output(images(examples, format)))
                    .toList();
            for (Precision precision : Types.precisions()) {
                double bound = precision == Precision.FLOAT ? 1e-5 : 0.02;
                try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
                    List<INDArray> actual = IntStream.of(MINIBATCHES)
                            .mapToObj(examples -> network.output(images(examples, format)))
                            .toList();
                    for (int i = 0; i < MINIBATCHES.length; i++) {
                        assertClose(expected.get(i), actual.get(i), bound);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(CNN2DFormat.class)
    void activationsOfAllLayersOfAChainStayAsTheyAre(CNN2DFormat format) {
        MultiLayerNetwork network = chain(format, WorkspaceMode.ENABLED);
        INDArray features = images(3, format);
        List<INDArray> expected = network.feedForward(features, false);
        INDArray part = network.feedForwardToLayer(4, features).get(4);
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            network.output(features.mul(2));
            List<INDArray> kept = network.feedForward(features, false);
            INDArray keptPart = network.feedForwardToLayer(4, features).get(4);
            network.output(features.mul(3));
            for (int i = 1; i < expected.size(); i++) {
                assertClose(expected.get(i), kept.get(i), 1e-5);
            }
            assertClose(part, keptPart, 1e-5);
        }
    }

    @ParameterizedTest
    @EnumSource(CNN2DFormat.class)
    void branchesReadWhatTheyWereGivenAndActivationsThatAreAskedForStay(CNN2DFormat format) {
        ComputationGraph graph = branches(format);
        INDArray features = images(3, format);
        INDArray expected = graph.outputSingle(features);
        Map<String, INDArray> activations = graph.feedForward(features, false);
        List<String> layers = List.of("pool", "left", "last", "out");
        try (InferenceMode mode = MixedPrecision.inference(graph, config(Precision.FLOAT))) {
            for (int examples : MINIBATCHES) {
                graph.outputSingle(images(examples, format));
            }
            assertClose(expected, graph.outputSingle(features), 1e-5);
            INDArray[] kept = graph.output(layers, false, new INDArray[] {features}, null);
            graph.outputSingle(features.mul(3));
            for (int i = 0; i < kept.length; i++) {
                assertClose(activations.get(layers.get(i)), kept[i], 1e-5);
            }
        }
    }

    /** In a second pass there is one copy: the pooling's output in the order in which DL4J flattens images. */
    @Test
    void aChainCopiesOnlyWhatDl4jFlattens() {
        MultiLayerNetwork network = chain(CNN2DFormat.NCHW, WorkspaceMode.ENABLED);
        INDArray features = images(2, CNN2DFormat.NCHW);
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            INDArray first = network.output(features);
            List<String> copies = Passes.copies(() -> network.output(features.mul(2)));
            assertEquals(2, copies.size(), () -> "the images into the padding, and the last pooling: " + copies);
            assertEquals(first, network.output(features));
        }
    }

    /** One pixel is in the order that DL4J reads, whatever its channels' stride. */
    @Test
    void aPoolingToOnePixelIsNotCopied() {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-2))
                .list()
                .layer(pooling(CNN2DFormat.NCHW))
                .layer(Networks.dense(5, Activation.TANH))
                .layer(Networks.softmax(4))
                .setInputType(InputType.convolutional(2, 2, 3))
                .build());
        INDArray features = Networks.images(3, 3, 2, 4)
                .getFeatures()
                .permute(0, 2, 3, 1)
                .dup('c')
                .permute(0, 3, 1, 2);
        INDArray expected = network.output(features);
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            assertClose(expected, network.output(features), 1e-5);
            assertEquals(List.of(), Passes.copies(() -> network.output(features)));
        }
    }

    @Test
    void eachThreadHasPlacesOfItsOwn() throws InterruptedException {
        MultiLayerNetwork network = chain(CNN2DFormat.NCHW, WorkspaceMode.ENABLED);
        List<INDArray> features = IntStream.range(0, 4)
                .mapToObj(i -> images(1 + i, CNN2DFormat.NCHW).mul(1 + i))
                .toList();
        List<INDArray> expected = features.stream().map(network::output).toList();
        double[] off = new double[features.size()];
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            List<Thread> threads = IntStream.range(0, features.size())
                    .mapToObj(i -> new Thread(() -> {
                        for (int pass = 0; pass < 20; pass++) {
                            INDArray actual = network.output(features.get(i));
                            off[i] = Math.max(
                                    off[i],
                                    expected.get(i).sub(actual).amaxNumber().doubleValue());
                        }
                    }))
                    .toList();
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
        }
        for (double largest : off) {
            assertTrue(largest <= 1e-5, () -> "off by " + largest);
        }
    }
}
