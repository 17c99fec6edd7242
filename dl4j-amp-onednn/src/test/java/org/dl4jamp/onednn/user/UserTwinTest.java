package org.dl4jamp.onednn.user;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.util.MaskLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.extension.LayerArrays;
import org.dl4jamp.extension.LayerKernel;
import org.dl4jamp.extension.LayerPasses;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/** Layers that a user has brought a kernel for, in whole networks against stock DL4J, and kernels that are refused. */
class UserTwinTest {
    private static final String KERNEL = SquaredRelu.Kernel.class.getName();

    /** What surrounds the layer. */
    enum Around {
        NOTHING,
        DROPOUT,
        FROZEN,
        FROZEN_WITH_BACKPROP;

        Layer layer() {
            SquaredRelu own = new SquaredRelu(12);
            if (this == DROPOUT) {
                own.setIDropout(new org.deeplearning4j.nn.conf.dropout.Dropout(0.7));
            }
            return switch (this) {
                case NOTHING, DROPOUT -> own;
                case FROZEN -> new FrozenLayer(own);
                case FROZEN_WITH_BACKPROP -> new FrozenLayerWithBackprop(own);
            };
        }
    }

    private static MultiLayerNetwork network(Layer own) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Sgd(0.05))
                .list()
                .layer(Networks.dense(9, Activation.TANH))
                .layer(own)
                .layer(Networks.dense(8, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(5))
                .build());
    }

    private static DataSet data(int minibatch) {
        INDArray labels = Nd4j.zeros(minibatch, 3);
        for (int i = 0; i < minibatch; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        return new DataSet(gaussian(new Random(3), 1, minibatch, 5), labels);
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static void train(MultiLayerNetwork network, DataSet data) {
        Nd4j.getRandom().setSeed(5);
        for (int i = 0; i < 4; i++) {
            network.fit(data);
        }
    }

    private static void assertTrainsAsInDl4j(Layer own, int minibatch, Precision precision, double tolerance) {
        MultiLayerNetwork stock = network(own.clone());
        MultiLayerNetwork mixed = network(own.clone());
        DataSet data = data(minibatch);
        train(stock, data);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config(precision))) {
            PrecisionPlan.Row row = amp.plan().rows().get(1);
            assertEquals("onednn", row.engine(), row::toString);
            assertTrue(own.getClass() != SquaredRelu.class || row.reason().contains("kernel " + KERNEL), row::reason);
            int before = SquaredRelu.Kernel.PASSES.get();
            train(mixed, data);
            assertEquals(4, SquaredRelu.Kernel.PASSES.get() - before);
        }
        Agreement.assertWithin("parameters", stock.params(), mixed.params(), tolerance);
        try (InferenceMode mode = MixedPrecision.inference(mixed, config(precision))) {
            Agreement.assertWithin(
                    "output", stock.output(data.getFeatures()), mixed.output(data.getFeatures()), tolerance);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aKernelTrainsAsTheClassesOwnCode(Around around) {
        assertTrainsAsInDl4j(around.layer(), 6, Precision.FLOAT, 1e-5);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 33})
    void minibatchesOfAnySize(int minibatch) {
        assertTrainsAsInDl4j(new SquaredRelu(12), minibatch, Precision.FLOAT, 1e-5);
    }

    /** DL4J's dense layers multiply sums by the mask of time steps, with labels for all of them. */
    @Test
    void masksOfTimeStepsAreThoseOfTheClassesOwnCode() {
        MultiLayerNetwork stock = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Sgd(0.05))
                .list()
                .layer(new SquaredRelu(12))
                .layer(new RnnOutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nOut(3)
                        .activation(Activation.TANH)
                        .build())
                .setInputType(InputType.recurrent(5))
                .build());
        MultiLayerNetwork mixed = stock.clone();
        Random random = new Random(4);
        INDArray mask = Nd4j.createFromArray(new float[][] {{1, 1, 0, 0}, {1, 1, 1, 1}, {1, 0, 0, 0}});
        DataSet data = new DataSet(gaussian(random, 1, 3, 5, 4), gaussian(random, 1, 3, 3, 4), mask, null);
        train(stock, data);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config(Precision.FLOAT))) {
            assertEquals("onednn", amp.plan().rows().get(0).engine());
            train(mixed, data);
        }
        Agreement.assertWithin("parameters", stock.params(), mixed.params(), 1e-5);
    }

    @Test
    void betweenHalfLayersItComputesInFloat() {
        assertTrainsAsInDl4j(new SquaredRelu(12), 6, Types.halfPrecision(), 0.03);
    }

    @Test
    void aKernelThatComputesInHalfDoesSoWhereThePlanHasIt() {
        assertTrainsAsInDl4j(new HalfRelu(), 6, Types.halfPrecision(), 0.04);
        if (Types.here().contains(DataType.BFLOAT16)) {
            MultiLayerNetwork network = network(new HalfRelu());
            try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.BFLOAT16))) {
                assertEquals(Precision.BFLOAT16, amp.plan().rows().get(1).precision());
                network.fit(data(6));
                assertEquals(DataType.BFLOAT16, HalfRelu.Kernel.lastType);
            }
        }
    }

    /** A layer with a kernel for both precisions. */
    public static class HalfRelu extends SquaredRelu {
        private static final long serialVersionUID = 1L;

        public HalfRelu() {
            super(12);
        }

        /** The kernel of {@link SquaredRelu}, in both precisions. */
        public static class Kernel implements LayerKernel<HalfRelu> {
            private static DataType lastType;

            @Override
            public Class<HalfRelu> layerClass() {
                return HalfRelu.class;
            }

            @Override
            public Optional<String> cannot(HalfRelu layer, Precision precision) {
                return Optional.empty();
            }

            @Override
            public LayerPasses passes(HalfRelu layer) {
                LayerPasses passes = new SquaredRelu.Kernel().passes(layer);
                return new LayerPasses() {
                    @Override
                    public INDArray forward(INDArray input, LayerArrays arrays) {
                        lastType = arrays.type();
                        assertEquals(arrays.type(), input.dataType());
                        return passes.forward(input, arrays);
                    }

                    @Override
                    public INDArray backward(INDArray input, INDArray epsilon, LayerArrays arrays) {
                        assertEquals(arrays.type(), epsilon.dataType());
                        return passes.backward(input, epsilon, arrays);
                    }
                };
            }
        }
    }

    @Test
    void subclassesOfTheClassHaveNoKernel() {
        MultiLayerNetwork network = network(new Subclass());
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT))) {
            assertEquals("dl4j", amp.plan().rows().get(1).engine());
        }
    }

    static class Subclass extends SquaredRelu {
        private static final long serialVersionUID = 1L;

        Subclass() {
            super(12);
        }
    }

    @Test
    void noiseAndDropoutThatTheKernelDoesNotKnowAreLeftToDl4j() {
        UserKernels kernels = of(new Wrong(SquaredRelu.class));
        SquaredRelu noisy = new SquaredRelu(3);
        noisy.setWeightNoise(new DropConnect(0.5));
        SquaredRelu dropping = new SquaredRelu(3);
        dropping.setIDropout(new org.deeplearning4j.nn.conf.dropout.Dropout(0.5));

        assertEquals(Optional.of("it has no kernel for weight noise of SquaredRelu"), without(kernels, noisy));
        assertEquals(Optional.of("it has no kernel for dropout of SquaredRelu"), without(kernels, dropping));
        assertEquals(Optional.empty(), without(kernels, new SquaredRelu(3)));
    }

    private static Optional<String> without(UserKernels kernels, Layer layer) {
        return kernels.of(layer).orElseThrow().without(layer, Precision.FLOAT);
    }

    private static UserKernels of(LayerKernel<?>... kernels) {
        return UserKernels.of(Stream.of(kernels), DenseLayer.class::equals);
    }

    /** A kernel for any class, even one that isn't a layer's. */
    private record Wrong(Class<?> type) implements LayerKernel<Layer> {
        @Override
        @SuppressWarnings("unchecked")
        public Class<Layer> layerClass() {
            return (Class<Layer>) type;
        }

        @Override
        public LayerPasses passes(Layer layer) {
            return null;
        }
    }

    /** A class that can't have a kernel, and what the message says of it. */
    private record Refused(Class<?> type, String words) {}

    static Stream<Refused> refused() {
        return Stream.of(
                new Refused(String.class, "java.lang.String, which is no class of layers' configurations"),
                new Refused(FeedForwardLayer.class, "which is abstract"),
                new Refused(DenseLayer.class, "DenseLayer, which the engine computes by itself"),
                new Refused(LastTimeStep.class, "a wrapper"),
                new Refused(FrozenLayer.class, "a wrapper"),
                new Refused(OutputLayer.class, "an output or recurrent layer"));
    }

    @ParameterizedTest
    @MethodSource("refused")
    void aKernelForAClassThatCannotHaveOneIsRefused(Refused refused) {
        String message = assertThrows(AmpException.class, () -> of(new Wrong(refused.type)))
                .getMessage();
        assertTrue(message.contains(refused.words), message);
        assertTrue(message.contains(Wrong.class.getName()), message);
    }

    @Test
    void noClassAndTwoKernelsForOneClassAreRefused() {
        String none =
                assertThrows(AmpException.class, () -> of(new Wrong(null))).getMessage();
        assertTrue(none.contains("returned null as its layerClass()"), none);
        String two = assertThrows(AmpException.class, () -> of(new SquaredRelu.Kernel(), new Wrong(SquaredRelu.class)))
                .getMessage();
        assertTrue(two.contains(KERNEL) && two.contains(Wrong.class.getName()), two);
    }

    @Test
    void aKernelMayBeForAClassOfDl4jsThatHasNone() {
        assertTrue(of(new Wrong(MaskLayer.class)).of(new MaskLayer()).isPresent());
    }

    /** What a kernel does wrongly in its passes. */
    enum Fault {
        NO_PASSES("returned null as the passes of layer"),
        NULL_FORWARD("returned null from forward"),
        TYPE_FORWARD("returned DOUBLE from forward, and the pass is in FLOAT"),
        NULL_BACKWARD("returned null from backward"),
        SHAPE_BACKWARD("returned [6, 12] from backward as the gradient of an input of shape [6, 9]"),
        NO_GRADIENT("didn't call gradient(...) for its parameters [b]"),
        UNKNOWN_PARAMETER("has no parameter \"V\", only [W, b]"),
        GRADIENT_FORWARD("has no gradient of \"W\" in a forward pass"),
        SHAPES_OF_PRODUCT("No product of FLOAT [6, 9] and FLOAT [12, 9] is made into FLOAT [6, 12]");

        private final String words;

        Fault(String words) {
            this.words = words;
        }
    }

    /** The right kernel but for one fault. */
    private record Faulty(Fault fault) implements LayerPasses {
        private static final LayerPasses RIGHT = new SquaredRelu.Kernel().passes(new SquaredRelu(12));

        @Override
        public INDArray forward(INDArray input, LayerArrays arrays) {
            return switch (fault) {
                case NULL_FORWARD -> null;
                case TYPE_FORWARD -> Nd4j.zeros(DataType.DOUBLE, 6, 12);
                case UNKNOWN_PARAMETER -> arrays.parameter("V");
                case GRADIENT_FORWARD -> arrays.gradient("W");
                case SHAPES_OF_PRODUCT ->
                    arrays.product(input, arrays.parameter("W").transpose(), arrays.result(6, 12));
                default -> RIGHT.forward(input, arrays);
            };
        }

        @Override
        public INDArray backward(INDArray input, INDArray epsilon, LayerArrays arrays) {
            return switch (fault) {
                case NULL_BACKWARD -> null;
                case SHAPE_BACKWARD -> epsilon;
                case NO_GRADIENT -> {
                    arrays.gradient("W").assign(0);
                    yield input;
                }
                default -> RIGHT.backward(input, epsilon, arrays);
            };
        }
    }

    /** Kernels of a class loader of their own, found as those of the thread are. */
    private static void withKernel(LayerPasses passes, Consumer<MultiLayerNetwork> program) {
        OwnFaulty.passes = passes;
        program.accept(network(new FaultyLayer()));
    }

    /** A layer whose kernel does what the test says. */
    public static class FaultyLayer extends SquaredRelu {
        private static final long serialVersionUID = 1L;

        public FaultyLayer() {
            super(12);
        }
    }

    /** The kernel of {@link FaultyLayer}, which is registered for tests. */
    public static class OwnFaulty implements LayerKernel<FaultyLayer> {
        private static LayerPasses passes;

        @Override
        public Class<FaultyLayer> layerClass() {
            return FaultyLayer.class;
        }

        @Override
        public LayerPasses passes(FaultyLayer layer) {
            return passes;
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFaultOfAKernelIsRefusedWithItsName(Fault fault) {
        withKernel(fault == Fault.NO_PASSES ? null : new Faulty(fault), network -> {
            RuntimeException failure = assertThrows(RuntimeException.class, () -> {
                try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT))) {
                    network.fit(data(6));
                }
            });
            String message = failure.getMessage();
            assertTrue(message.contains(fault.words), message);
            assertTrue(fault == Fault.SHAPES_OF_PRODUCT || message.contains(OwnFaulty.class.getName()), message);
        });
    }

    /** A class that doesn't say in its configuration that it ends in a loss. */
    @Test
    void anOutputLayerInDisguiseIsRefused() {
        UserTwin twin = UserTwin.make(
                new SquaredRelu.Kernel(),
                new NeuralNetConfiguration.Builder().layer(new SquaredRelu(3)).build(),
                DataType.FLOAT,
                null);
        org.deeplearning4j.nn.api.Layer output = new org.deeplearning4j.nn.layers.LossLayer(
                new NeuralNetConfiguration.Builder()
                        .layer(new LossLayer.Builder().build())
                        .build(),
                DataType.FLOAT);

        String message = assertThrows(AmpException.class, () -> twin.requireOrdinary(output, "last"))
                .getMessage();
        assertTrue(message.contains("layer \"last\"") && message.contains("an output layer"), message);
    }
}
