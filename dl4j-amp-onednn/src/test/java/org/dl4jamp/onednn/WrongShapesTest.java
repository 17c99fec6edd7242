package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * Masks, gradients and states of a wrong shape give what DL4J makes of them, or an exception: nothing is read beyond an
 * array.
 */
class WrongShapesTest {
    private static final AmpConfig ONEDNN =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();

    private static final InputType VECTORS = InputType.feedForward(5);
    private static final InputType IMAGES = InputType.convolutional(6, 6, 3);
    private static final InputType SEQUENCES = InputType.recurrent(5, 7);

    private static GraphBuilder builder(InputType input) {
        return new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.1))
                .convolutionMode(ConvolutionMode.Same)
                .trainingWorkspaceMode(WorkspaceMode.NONE)
                .inferenceWorkspaceMode(WorkspaceMode.NONE)
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(input);
    }

    private static ComputationGraph network(GraphBuilder graph) {
        return Networks.init(graph.build());
    }

    private static Layer front(InputType input) {
        if (input == VECTORS) {
            return Networks.dense(4, Activation.TANH);
        }
        return input == IMAGES
                ? new ConvolutionLayer.Builder(3, 3)
                        .nOut(4)
                        .activation(Activation.TANH)
                        .build()
                : new SimpleRnn.Builder().nOut(4).activation(Activation.TANH).build();
    }

    private static INDArray features(InputType input) {
        if (input == VECTORS) {
            return gaussian(new Random(1), 1, 6, 5);
        }
        return input == IMAGES ? gaussian(new Random(1), 1, 6, 3, 6, 6) : gaussian(new Random(1), 1, 6, 5, 7);
    }

    private static LSTM lstm() {
        return new LSTM.Builder().nOut(4).activation(Activation.TANH).build();
    }

    static Stream<Arguments> lastOnes() {
        Stream<Arguments> layers = Stream.of(
                Arguments.of(VECTORS, Networks.dense(3, Activation.RELU)),
                Arguments.of(
                        VECTORS,
                        new DenseLayer.Builder()
                                .nOut(3)
                                .activation(Activation.TANH)
                                .hasLayerNorm(true)
                                .build()),
                Arguments.of(VECTORS, new BatchNormalization()),
                Arguments.of(VECTORS, new ActivationLayer(Activation.RELU)),
                Arguments.of(
                        IMAGES,
                        new ConvolutionLayer.Builder(3, 3)
                                .nOut(3)
                                .activation(Activation.RELU)
                                .build()),
                Arguments.of(IMAGES, new BatchNormalization()),
                Arguments.of(
                        IMAGES, new SubsamplingLayer.Builder(2, 2).stride(2, 2).build()),
                Arguments.of(
                        IMAGES, new LocalResponseNormalization.Builder().n(3).build()),
                Arguments.of(IMAGES, new GlobalPoolingLayer(PoolingType.AVG)),
                Arguments.of(IMAGES, new Upsampling2D.Builder(2).build()),
                Arguments.of(SEQUENCES, lstm()),
                Arguments.of(
                        SEQUENCES,
                        new SimpleRnn.Builder()
                                .nOut(3)
                                .activation(Activation.TANH)
                                .build()),
                Arguments.of(SEQUENCES, new Bidirectional(Bidirectional.Mode.CONCAT, lstm())),
                Arguments.of(SEQUENCES, new Bidirectional(Bidirectional.Mode.MUL, lstm())));
        Stream<Arguments> vertices = Stream.of(ElementWiseVertex.Op.values())
                .map(operation -> new ElementWiseVertex(operation))
                .flatMap(vertex -> Stream.of(VECTORS, IMAGES).map(input -> Arguments.of(input, vertex)));
        return Stream.concat(
                Stream.concat(layers, vertices),
                Stream.of(
                        Arguments.of(IMAGES, new MergeVertex()),
                        Arguments.of(VECTORS, new MergeVertex()),
                        Arguments.of(IMAGES, new SubsetVertex(1, 2)),
                        Arguments.of(VECTORS, new ScaleVertex(2))));
    }

    private static ComputationGraph endingIn(InputType input, Object last) {
        GraphBuilder graph = builder(input);
        graph.addLayer("one", front(input), "in");
        if (last instanceof Layer layer) {
            graph.addLayer("last", layer.clone(), "one");
        } else if (last instanceof ElementWiseVertex || last instanceof MergeVertex) {
            graph.addLayer("other", front(input), "in");
            graph.addVertex("last", ((GraphVertex) last).clone(), "one", "other");
        } else {
            graph.addVertex("last", ((GraphVertex) last).clone(), "one");
        }
        return network(graph.setOutputs("last"));
    }

    /** All that differ from a shape along one axis, and some of another rank. */
    private static Stream<long[]> others(long[] shape) {
        Stream<long[]> along = Stream.iterate(0, axis -> axis < shape.length, axis -> axis + 1)
                .flatMap(axis -> Stream.of(-1, 1, 5).map(more -> {
                    long[] other = shape.clone();
                    other[axis] += more;
                    return other;
                }))
                .filter(other -> Arrays.stream(other).allMatch(size -> size > 0));
        long[] flat = {shape[0], Arrays.stream(shape).skip(1).reduce(1, (x, y) -> x * y)};
        long[] reversed = shape.clone();
        for (int i = 0; i < shape.length; i++) {
            reversed[i] = shape[shape.length - 1 - i];
        }
        return Stream.concat(along, Stream.of(flat, reversed)).filter(other -> !Arrays.equals(other, shape));
    }

    private static Optional<INDArray> gradient(ComputationGraph network, INDArray features, INDArray epsilon) {
        return attempt(() -> {
            network.feedForward(new INDArray[] {features}, true, false);
            Gradient gradient = network.backpropGradient(epsilon.dup());
            return gradient.gradient().dup();
        });
    }

    private static Optional<INDArray> attempt(Supplier<INDArray> what) {
        try {
            return Optional.of(what.get());
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }

    /**
     * Requires an exception, or else DL4J's result. DL4J runs only in the second case: its operations may write beyond
     * arrays of a wrong shape.
     */
    private static void assertRefusedOrDl4js(
            String what, Supplier<Optional<INDArray>> stock, Optional<INDArray> actual) {
        if (actual.isPresent()) {
            INDArray expected =
                    stock.get().orElseThrow(() -> new AssertionError(what + " is refused by DL4J, and was taken"));
            Agreement.assertWithin(what, expected, actual.get(), 1e-4);
        }
    }

    @ParameterizedTest
    @MethodSource("lastOnes")
    void gradientsThatAProgramGives(InputType input, Object last) {
        INDArray features = features(input);
        ComputationGraph stock = endingIn(input, last);
        ComputationGraph mixed = endingIn(input, last);
        long[] shape = stock.outputSingle(features).shape();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, ONEDNN)) {
            INDArray right = gaussian(new Random(2), 1, shape);
            assertTrue(gradient(mixed, features, right).isPresent(), "the right shape is refused");
            Agreement.assertWithin(
                    "right shape",
                    gradient(stock, features, right).orElseThrow(),
                    gradient(mixed, features, right).orElseThrow(),
                    1e-4);
            others(shape).forEach(other -> {
                INDArray epsilon = gaussian(new Random(2), 1, other);
                assertRefusedOrDl4js(
                        "a gradient of shape " + Arrays.toString(other),
                        () -> gradient(stock, features, epsilon),
                        gradient(mixed, features, epsilon));
            });
            Agreement.assertWithin(
                    "right shape, after all",
                    gradient(stock, features, right).orElseThrow(),
                    gradient(mixed, features, right).orElseThrow(),
                    1e-4);
        }
    }

    static Stream<Layer> ofSequences() {
        return Stream.of(
                lstm(),
                new SimpleRnn.Builder().nOut(3).activation(Activation.TANH).build(),
                new Bidirectional(Bidirectional.Mode.CONCAT, lstm()),
                new GlobalPoolingLayer(PoolingType.AVG));
    }

    @ParameterizedTest
    @MethodSource("ofSequences")
    void masks(Layer layer) {
        INDArray features = features(SEQUENCES);
        ComputationGraph stock = endingIn(SEQUENCES, layer);
        ComputationGraph mixed = endingIn(SEQUENCES, layer);
        List<long[]> shapes = List.of(
                new long[] {6, 7},
                new long[] {6, 6},
                new long[] {6, 9},
                new long[] {5, 7},
                new long[] {7, 7},
                new long[] {1, 7},
                new long[] {6, 1},
                new long[] {7, 6},
                new long[] {6, 1, 7},
                new long[] {6, 4, 7},
                new long[] {42, 1});
        try (MixedPrecision amp = MixedPrecision.enable(mixed, ONEDNN)) {
            for (long[] shape : shapes) {
                INDArray mask = Nd4j.ones(DataType.FLOAT, shape);
                mask.putScalar(mask.length() / 2, 0);
                assertRefusedOrDl4js(
                        "a mask of shape " + Arrays.toString(shape),
                        () -> attempt(() -> masked(stock, features, mask)),
                        attempt(() -> masked(mixed, features, mask)));
            }
        }
    }

    private static INDArray masked(ComputationGraph network, INDArray features, INDArray mask) {
        return network.output(false, new INDArray[] {features}, new INDArray[] {mask}, null)[0].dup();
    }

    @ParameterizedTest
    @MethodSource("ofSequences")
    void statesBetweenTimeSteps(Layer layer) {
        if (!(layer instanceof LSTM || layer instanceof SimpleRnn)) {
            return;
        }
        ComputationGraph mixed = endingIn(SEQUENCES, layer);
        INDArray step = gaussian(new Random(1), 1, 6, 5, 1);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, ONEDNN)) {
            mixed.rnnTimeStep(step);
            Map<String, INDArray> state = ((RecurrentLayer) mixed.getLayer("last")).rnnGetPreviousState();
            for (String name : state.keySet()) {
                for (long[] shape : List.of(new long[] {6, 2}, new long[] {5, 4}, new long[] {3, 6, 2})) {
                    Map<String, INDArray> wrong = new java.util.HashMap<>(state);
                    wrong.put(name, Nd4j.ones(DataType.FLOAT, shape));
                    mixed.rnnSetPreviousState("last", wrong);
                    assertThrows(
                            RuntimeException.class,
                            () -> mixed.rnnTimeStep(step),
                            name + " of shape " + Arrays.toString(shape));
                }
            }
            mixed.rnnSetPreviousState("last", state);
            mixed.rnnTimeStep(step);
        }
    }

    @ParameterizedTest
    @MethodSource("embeddings")
    void gradientsOfEmbeddings(Layer embedding) {
        INDArray indices = Nd4j.create(new float[] {0, 1, 2, 3, 4, 5}, new long[] {2, 3});
        GraphBuilder graph = builder(InputType.recurrent(6, 3)).addLayer("last", embedding, "in");
        GraphBuilder same = builder(InputType.recurrent(6, 3)).addLayer("last", embedding.clone(), "in");
        ComputationGraph stock = network(graph.setOutputs("last"));
        ComputationGraph mixed = network(same.setOutputs("last"));
        try (MixedPrecision amp = MixedPrecision.enable(mixed, ONEDNN)) {
            others(new long[] {2, 4, 3}).forEach(shape -> {
                INDArray epsilon = gaussian(new Random(2), 1, shape);
                assertRefusedOrDl4js(
                        "a gradient of shape " + Arrays.toString(shape),
                        () -> gradient(stock, indices, epsilon),
                        gradient(mixed, indices, epsilon));
            });
        }
    }

    static Stream<Layer> embeddings() {
        return Stream.of(new EmbeddingSequenceLayer.Builder()
                .nIn(6)
                .nOut(4)
                .inputLength(3)
                .build());
    }
}
