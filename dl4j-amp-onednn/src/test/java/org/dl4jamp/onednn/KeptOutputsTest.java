package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.ParamInitializer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * No other code writes into an output that its layer reads again in the backward pass: one step in FP32 equals DL4J's.
 */
class KeptOutputsTest {
    /** Draws random numbers, or has parameters of its own. */
    private static final Set<Activation> NOT_COMPARED = EnumSet.of(Activation.RRELU);

    /** The layers that end in ReLU. */
    private enum Front {
        PRODUCT,
        NORMALIZATION,
        SUM,
        LAYER;

        String add(GraphBuilder graph, Shape shape) {
            switch (this) {
                case PRODUCT -> graph.addLayer("first", shape.product(Activation.RELU), "in");
                case NORMALIZATION -> {
                    graph.addLayer("product", shape.product(Activation.IDENTITY), "in");
                    graph.addLayer("normalization", new BatchNormalization(), "product");
                    graph.addLayer("first", new ActivationLayer(Activation.RELU), "normalization");
                }
                case SUM -> {
                    graph.addLayer("one", shape.product(Activation.TANH), "in");
                    graph.addLayer("other", shape.product(Activation.IDENTITY), "in");
                    graph.addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "one", "other");
                    graph.addLayer("first", new ActivationLayer(Activation.RELU), "sum");
                }
                case LAYER -> {
                    graph.addLayer("product", shape.product(Activation.TANH), "in");
                    graph.addLayer("first", new ActivationLayer(Activation.RELU), "product");
                }
            }
            return "first";
        }
    }

    /** The kinds of arrays, and the loss layer for them. */
    // DL4J's types of input and arrays are mutable, but stay as they are here.
    @SuppressWarnings("ImmutableEnumChecker")
    private enum Shape {
        VECTORS(InputType.feedForward(5), 6, 5),
        SEQUENCES(InputType.recurrent(5, 4), 6, 5, 4),
        IMAGES(InputType.convolutional(4, 4, 3), 6, 3, 4, 4),
        VOLUMES(InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 3, 3, 3, 2), 4, 2, 3, 3, 3);

        private static final int CHANNELS = 4;

        private final InputType input;
        private final long[] features;

        Shape(InputType input, long... features) {
            this.input = input;
            this.features = features;
        }

        Layer product(Activation activation) {
            return switch (this) {
                case VECTORS -> Networks.dense(CHANNELS, activation);
                case SEQUENCES ->
                    new Convolution1DLayer.Builder(3)
                            .nOut(CHANNELS)
                            .activation(activation)
                            .build();
                case IMAGES ->
                    new ConvolutionLayer.Builder(3, 3)
                            .nOut(CHANNELS)
                            .activation(activation)
                            .build();
                case VOLUMES ->
                    new Convolution3D.Builder(2, 2, 2)
                            .nOut(CHANNELS)
                            .activation(activation)
                            .build();
            };
        }

        Layer loss(Activation activation) {
            return switch (this) {
                case VECTORS ->
                    new LossLayer.Builder(LossFunction.MSE)
                            .activation(activation)
                            .build();
                case SEQUENCES ->
                    new RnnLossLayer.Builder(LossFunction.MSE)
                            .activation(activation)
                            .build();
                case IMAGES ->
                    new CnnLossLayer.Builder(LossFunction.MSE)
                            .activation(activation)
                            .build();
                case VOLUMES ->
                    new Cnn3DLossLayer.Builder(Convolution3D.DataFormat.NCDHW)
                            .lossFunction(LossFunction.MSE)
                            .activation(activation)
                            .build();
            };
        }

        DataSet data() {
            long[] labels = features.clone();
            labels[1] = CHANNELS;
            return new DataSet(gaussian(new Random(1), 1, features), gaussian(new Random(2), 1, labels));
        }

        /** There is no batch normalization of sequences and volumes. */
        boolean has(Front front) {
            return front != Front.NORMALIZATION || this == VECTORS || this == IMAGES;
        }
    }

    private static GraphBuilder builder(WorkspaceMode workspaces, Shape shape) {
        return new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.5))
                .convolutionMode(ConvolutionMode.Same)
                .trainingWorkspaceMode(workspaces)
                .inferenceWorkspaceMode(workspaces)
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(shape.input);
    }

    private static ComputationGraph network(ComputationGraphConfiguration configuration) {
        return Networks.init(configuration);
    }

    static Stream<Arguments> losses() {
        return losses("onednn", WorkspaceMode.ENABLED);
    }

    static Stream<Arguments> lossesOtherwise() {
        return Stream.of(
                        losses("onednn", WorkspaceMode.NONE),
                        losses("nd4j", WorkspaceMode.ENABLED),
                        losses("nd4j", WorkspaceMode.NONE))
                .flatMap(each -> each);
    }

    private static Stream<Arguments> losses(String engine, WorkspaceMode workspaces) {
        return Stream.of(Shape.values()).flatMap(shape -> Stream.of(Front.values())
                .filter(shape::has)
                .map(front -> Arguments.of(engine, workspaces, shape, front)));
    }

    @ParameterizedTest
    @MethodSource("losses")
    void behindReluEachLossLayerTrainsAsInDl4jWithEachActivationFunction(
            String engine, WorkspaceMode workspaces, Shape shape, Front front) {
        assertLossesTrainAsInDl4j(engine, workspaces, shape, front);
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("lossesOtherwise")
    void behindReluEachLossLayerTrainsAsInDl4jWithoutWorkspacesAndOnThePortableEngine(
            String engine, WorkspaceMode workspaces, Shape shape, Front front) {
        assertLossesTrainAsInDl4j(engine, workspaces, shape, front);
    }

    private static void assertLossesTrainAsInDl4j(String engine, WorkspaceMode workspaces, Shape shape, Front front) {
        for (Activation activation : EnumSet.complementOf(EnumSet.copyOf(NOT_COMPARED))) {
            GraphBuilder graph = builder(workspaces, shape);
            String last = front.add(graph, shape);
            graph.addLayer("loss", shape.loss(activation), last).setOutputs("loss");
            assertStepIsDl4js(engine, graph.build(), shape, front + " and " + activation);
        }
    }

    private static void assertStepIsDl4js(
            String engine, ComputationGraphConfiguration configuration, Shape shape, String what) {
        ComputationGraph stock = network(configuration.clone());
        ComputationGraph mixed = network(configuration.clone());
        stock.fit(shape.data());
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine(engine).build();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
            mixed.fit(shape.data());
        }
        Agreement.assertWithin(what, stock.params(), mixed.params(), 1e-5);
    }

    /** A user's, which uses its input for what it computes. */
    public static final class OverwritingOutput extends OutputLayer {
        private static final long serialVersionUID = 1L;

        OverwritingOutput() {
            super(new OutputLayer.Builder(LossFunction.MSE).nOut(2).activation(Activation.TANH));
        }

        @Override
        public org.deeplearning4j.nn.api.Layer instantiate(
                NeuralNetConfiguration conf,
                Collection<TrainingListener> listeners,
                int index,
                INDArray parameters,
                boolean initialize,
                DataType type) {
            var layer = new org.deeplearning4j.nn.layers.OutputLayer(conf, type) {
                private static final long serialVersionUID = 1L;

                @Override
                public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
                    Pair<Gradient, INDArray> result = super.backpropGradient(epsilon, workspaceMgr);
                    input.subi(0.5);
                    return result;
                }
            };
            layer.setListeners(listeners);
            layer.setIndex(index);
            layer.setParamsViewArray(parameters);
            ParamInitializer initializer = initializer();
            Map<String, INDArray> table = initializer.init(conf, parameters, initialize);
            layer.setParamTable(table);
            layer.setConf(conf);
            return layer;
        }
    }

    /** A user's, which drops out in place. */
    public static final class InPlace implements IDropout {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray applyDropout(
                INDArray input, INDArray result, int iteration, int epoch, LayerWorkspaceMgr workspaceMgr) {
            return input.subi(0.5);
        }

        @Override
        public INDArray backprop(INDArray epsilon, INDArray next, int iteration, int epoch) {
            return next == epsilon ? next : next.assign(epsilon);
        }

        @Override
        public void clear() {}

        @Override
        public IDropout clone() {
            return new InPlace();
        }
    }

    static Stream<Arguments> fronts() {
        return Stream.of("onednn", "nd4j").flatMap(engine -> Stream.of(WorkspaceMode.ENABLED, WorkspaceMode.NONE)
                .flatMap(
                        workspaces -> Stream.of(Front.values()).map(front -> Arguments.of(engine, workspaces, front))));
    }

    @ParameterizedTest
    @MethodSource("fronts")
    void aUsersOutputLayerMayWriteIntoItsInput(String engine, WorkspaceMode workspaces, Front front) {
        GraphBuilder graph = builder(workspaces, Shape.VECTORS);
        String last = front.add(graph, Shape.VECTORS);
        graph.addLayer("out", new OverwritingOutput(), last).setOutputs("out");
        ComputationGraphConfiguration configuration = graph.build();
        ComputationGraph stock = network(configuration);
        ComputationGraph mixed = network(configuration);
        mixed.setParams(stock.params());
        DataSet data =
                new DataSet(gaussian(new Random(1), 1, Shape.VECTORS.features), gaussian(new Random(2), 1, 6, 2));
        stock.fit(data);
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine(engine).build();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
            mixed.fit(data);
        }
        Agreement.assertWithin(front.name(), stock.params(), mixed.params(), 1e-5);
    }

    @ParameterizedTest
    @MethodSource("fronts")
    void aUsersDropoutMayWriteIntoItsInput(String engine, WorkspaceMode workspaces, Front front) {
        for (Layer layer : Arrays.asList(
                new DropoutLayer(new InPlace()),
                new DenseLayer.Builder()
                        .nOut(4)
                        .activation(Activation.TANH)
                        .dropOut(new InPlace())
                        .build())) {
            GraphBuilder graph = builder(workspaces, Shape.VECTORS);
            String last = front.add(graph, Shape.VECTORS);
            graph.addLayer("dropping", layer, last);
            graph.addLayer(
                            "out",
                            new OutputLayer.Builder(LossFunction.MSE)
                                    .nOut(4)
                                    .activation(Activation.TANH)
                                    .build(),
                            "dropping")
                    .setOutputs("out");
            assertStepIsDl4js(engine, graph.build(), Shape.VECTORS, front + " and " + layer);
        }
    }

    @Test
    void theUserMayMakeTheGradientInThePlaceOfTheOutput() {
        for (Front front : Front.values()) {
            GraphBuilder graph = builder(WorkspaceMode.NONE, Shape.VECTORS);
            graph.setOutputs(front.add(graph, Shape.VECTORS));
            ComputationGraphConfiguration configuration = graph.build();
            ComputationGraph stock = network(configuration.clone());
            ComputationGraph mixed = network(configuration.clone());
            AmpConfig config = AmpConfig.builder()
                    .precision(Precision.FLOAT)
                    .engine("onednn")
                    .build();
            try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
                Agreement.assertWithin(
                        front.name(),
                        gradientMadeInPlace(stock).gradient(),
                        gradientMadeInPlace(mixed).gradient(),
                        1e-5);
            }
        }
    }

    private static Gradient gradientMadeInPlace(ComputationGraph network) {
        DataSet data = Shape.VECTORS.data();
        Map<String, INDArray> activations = network.feedForward(new INDArray[] {data.getFeatures()}, true, false);
        INDArray output = activations.get("first");
        assertEquals(DataType.FLOAT, output.dataType());
        return network.backpropGradient(output.subi(Nd4j.ones(output.shape())).muli(1));
    }
}
