package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.Collection;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/** Users' subclasses of DL4J's classes run the users' code, in training and in inference, on every engine. */
class UsersLayersTest {
    /** Normalizes, then multiplies by three and adds one. */
    public static final class Stretching extends BatchNormalization {
        private static final long serialVersionUID = 1L;

        @Override
        public Layer instantiate(
                NeuralNetConfiguration conf,
                Collection<TrainingListener> listeners,
                int index,
                INDArray parameters,
                boolean initialize,
                DataType type) {
            Layer layer = new org.deeplearning4j.nn.layers.normalization.BatchNormalization(conf, type) {
                private static final long serialVersionUID = 1L;

                @Override
                public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
                    return super.activate(training, workspaceMgr).muli(3).addi(1);
                }

                @Override
                public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
                    return super.backpropGradient(epsilon.mul(3), workspaceMgr);
                }
            };
            return SingleLayer.instantiated(layer, listeners, index, parameters, initialize);
        }
    }

    /** Multiplies what a frozen layer computes by three. */
    public static final class StretchingFrozen extends FrozenLayer {
        private static final long serialVersionUID = 1L;

        public StretchingFrozen() {
            super(new BatchNormalization());
        }

        @Override
        public Layer instantiate(
                NeuralNetConfiguration conf,
                Collection<TrainingListener> listeners,
                int index,
                INDArray parameters,
                boolean initialize,
                DataType type) {
            Layer underlying = getLayer().instantiate(conf(conf), listeners, index, parameters, initialize, type);
            return new org.deeplearning4j.nn.layers.FrozenLayer(underlying) {
                private static final long serialVersionUID = 1L;

                @Override
                public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
                    return super.activate(training, workspaceMgr).muli(3);
                }

                @Override
                public INDArray activate(INDArray input, boolean training, LayerWorkspaceMgr workspaceMgr) {
                    return super.activate(input, training, workspaceMgr).muli(3);
                }
            };
        }

        private NeuralNetConfiguration conf(NeuralNetConfiguration conf) {
            NeuralNetConfiguration inner = conf.clone();
            inner.setLayer(getLayer());
            return inner;
        }
    }

    /** Twice the sum. */
    // DL4J's own vertices override methods of their interface without '...'.
    @SuppressWarnings("overrides")
    public static final class TwiceTheSum extends ElementWiseVertex {
        private static final long serialVersionUID = 1L;

        public TwiceTheSum() {
            super(Op.Add);
        }

        @Override
        public ElementWiseVertex clone() {
            return new TwiceTheSum();
        }

        @Override
        public org.deeplearning4j.nn.graph.vertex.GraphVertex instantiate(
                ComputationGraph graph,
                String name,
                int index,
                INDArray parameters,
                boolean initialize,
                DataType type) {
            return new org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex(
                    graph, name, index, org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex.Op.Add, type) {
                private static final long serialVersionUID = 1L;

                @Override
                public INDArray doForward(boolean training, LayerWorkspaceMgr workspaceMgr) {
                    return super.doForward(training, workspaceMgr).muli(2);
                }

                @Override
                public Pair<Gradient, INDArray[]> doBackward(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
                    setEpsilon(workspaceMgr
                            .dup(ArrayType.BP_WORKING_MEM, getEpsilon())
                            .muli(2));
                    return super.doBackward(tbptt, workspaceMgr);
                }
            };
        }
    }

    private enum Network {
        NORMALIZED_IMAGES,
        NORMALIZED_VECTORS,
        FROZEN,
        SUM;

        private boolean takesImages() {
            return this != NORMALIZED_VECTORS;
        }

        private org.deeplearning4j.nn.conf.layers.Layer product() {
            return takesImages()
                    ? new ConvolutionLayer.Builder(3, 3)
                            .nOut(4)
                            .activation(Activation.IDENTITY)
                            .build()
                    : Networks.dense(8, Activation.IDENTITY);
        }

        ComputationGraph make() {
            GraphBuilder graph = new NeuralNetConfiguration.Builder()
                    .seed(5)
                    .updater(new Sgd(0.01))
                    .convolutionMode(ConvolutionMode.Same)
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(takesImages() ? InputType.convolutional(6, 6, 2) : InputType.feedForward(5));
            graph.addLayer("product", product(), "in");
            switch (this) {
                case NORMALIZED_IMAGES, NORMALIZED_VECTORS -> graph.addLayer("own", new Stretching(), "product");
                case FROZEN -> graph.addLayer("own", new StretchingFrozen(), "product");
                case SUM -> {
                    graph.addLayer("other", product(), "in");
                    graph.addVertex("own", new TwiceTheSum(), "product", "other");
                }
            }
            graph.addLayer("relu", new ActivationLayer(Activation.RELU), "own");
            graph.addLayer("out", Networks.regression(2), "relu").setOutputs("out");
            ComputationGraphConfiguration configuration = graph.build();
            return Networks.init(configuration);
        }

        DataSet data(int seed) {
            INDArray features =
                    takesImages() ? gaussian(new Random(seed), 1, 6, 2, 6, 6) : gaussian(new Random(seed), 1, 6, 5);
            return new DataSet(features, gaussian(new Random(seed + 1), 1, 6, 2));
        }
    }

    private static double error(Precision precision) {
        return switch (precision) {
            case FLOAT -> 1e-4;
            case HALF -> 0.03;
            default -> 0.05;
        };
    }

    static Stream<Arguments> cases() {
        return Stream.of(Network.values()).flatMap(network -> Stream.of(
                        Arguments.of("onednn", Precision.FLOAT),
                        Arguments.of("onednn", Precision.BFLOAT16),
                        Arguments.of("nd4j", Precision.FLOAT),
                        Arguments.of("nd4j", Precision.HALF))
                .filter(engine ->
                        engine.get()[1] != Precision.BFLOAT16 || Types.here().contains(DataType.BFLOAT16))
                .map(engine -> Arguments.of(network, engine.get()[0], engine.get()[1])));
    }

    /** DL4J's graph doesn't train what is before a frozen layer. */
    static Stream<Arguments> trained() {
        return cases().filter(arguments -> arguments.get()[0] != Network.FROZEN);
    }

    /** With a scale that doesn't overflow: no step is skipped. */
    private static AmpConfig config(String engine, Precision precision) {
        AmpConfig.Builder builder = AmpConfig.builder().precision(precision).engine(engine);
        return (precision == Precision.HALF ? builder.lossScaler(new StaticLossScaler(16)) : builder).build();
    }

    @ParameterizedTest
    @MethodSource("trained")
    void trainAsInDl4j(Network kind, String engine, Precision precision) {
        ComputationGraph stock = kind.make();
        ComputationGraph mixed = kind.make();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config(engine, precision))) {
            for (int step = 0; step < 3; step++) {
                stock.fit(kind.data(step));
                mixed.fit(kind.data(step));
            }
            INDArray features = kind.data(9).getFeatures();
            Agreement.assertWithin(
                    "output", stock.outputSingle(features), mixed.outputSingle(features), error(precision));
        }
        Agreement.assertWithin("parameters", stock.params(), mixed.params(), error(precision));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void inferAsInDl4j(Network kind, String engine, Precision precision) {
        ComputationGraph network = kind.make();
        if (kind != Network.FROZEN) {
            network.fit(kind.data(1));
        }
        INDArray features = kind.data(9).getFeatures();
        INDArray expected = network.outputSingle(features);
        AmpConfig config =
                AmpConfig.builder().precision(precision).engine(engine).build();
        try (InferenceMode mode = MixedPrecision.inference(network, config)) {
            Agreement.assertWithin("output", expected, network.outputSingle(features), error(precision));
        }
    }
}
