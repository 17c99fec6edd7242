package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.dl4jamp.onednn.SequenceNetwork.batch;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.nd4j.Nd4jEngine;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.onednn.primitive.RefusingContext;
import org.dl4jamp.onednn.user.UserKernels;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.RefusedShapes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
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
import org.slf4j.LoggerFactory;

/**
 * Layers of attention, recurrent layers and primary capsules where oneDNN doesn't make a primitive: DL4J's own code
 * computes that shape, in the middle of training or of a backward pass, and the plan and one line of the log say so.
 */
class RefusedShapesTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final int UNITS = 4;
    private static final int STEPS = 5;
    private static final int EXAMPLES = 3;

    private static Stream<Arguments> layers() {
        Stream<Layer> attention = Arrays.stream(SequenceNetwork.values())
                .filter(SequenceNetwork::isInStock)
                .map(SequenceNetwork::middle)
                .filter(layer -> layer != null)
                .peek(layer -> layer.setNIn(InputType.recurrent(8, STEPS), true));
        Stream<Layer> recurrent =
                Stream.of(recurrent(new LSTM.Builder().nIn(8)), recurrent(new SimpleRnn.Builder().nIn(8)));
        Layer capsules = new PrimaryCapsules.Builder(3, 2, new int[] {2, 2}, new int[] {1, 1})
                .useReLU(true)
                .build();
        capsules.setNIn(InputType.convolutional(STEPS, STEPS, 8), true);
        return Stream.of(attention, recurrent, Stream.of(capsules))
                .flatMap(each -> each)
                .flatMap(layer -> Types.here().stream().map(type -> Arguments.of(layer, type)));
    }

    private static Layer recurrent(BaseRecurrentLayer.Builder<?> builder) {
        return builder.nOut(UNITS).activation(Activation.TANH).build();
    }

    /** A layer on this engine with a context of its own. */
    private record Refusing(RefusingContext context, OneDnnSession session, TwinLayer twin, RefusedShapes refused)
            implements AutoCloseable {
        static Refusing of(Layer conf, INDArray params, DataType type, IntPredicate refuses) {
            RefusingContext context = new RefusingContext(false, refuses);
            OneDnnSession session =
                    new OneDnnSession(new Nd4jEngine().session(1, true), true, context, UserKernels.NONE);
            LayerContext place = Chain.context();
            org.deeplearning4j.nn.api.Layer master = SingleLayer.dl4j(conf, params);
            Precision precision = type == DataType.FLOAT ? Precision.FLOAT : Precision.BFLOAT16;
            TwinLayer twin = new TwinSetup(
                            "layer",
                            master,
                            session.twin(Chain.request(master, precision, type)),
                            type,
                            type,
                            place,
                            GradientScale.none(),
                            SingleLayer.NO_STEP)
                    .wrapper();
            return new Refusing(context, session, twin, place.check().refused());
        }

        @Override
        public void close() {
            session.close();
        }
    }

    /** As in a network, the input is set once. */
    private static SingleLayer.Result run(org.deeplearning4j.nn.api.Layer layer, INDArray input, INDArray epsilon) {
        INDArray output = layer.activate(input, true, NONE).dup();
        Pair<Gradient, INDArray> result = layer.backpropGradient(epsilon.dup(), NONE);
        return new SingleLayer.Result(output, result.getFirst(), result.getSecond());
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("layers")
    void withoutAnyOneKernelDl4jsLayerComputesForwardAndBackward(Layer conf, DataType type) {
        computesWithout(conf, type, kernels -> IntStream.range(0, kernels));
    }

    @ParameterizedTest
    @MethodSource("layers")
    void withoutSomeKernelDl4jsLayerComputesForwardAndBackward(Layer conf, DataType type) {
        computesWithout(conf, type, kernels -> IntStream.of(0, kernels / 4, kernels / 2, kernels * 3 / 4, kernels - 1));
    }

    /** @param missing returns which of a number of kernels are missing, one after the other */
    private static void computesWithout(Layer conf, DataType type, IntFunction<IntStream> missing) {
        Random random = new Random(3);
        long number = conf.initializer().numParams(conf);
        INDArray params = number == 0 ? null : gaussian(random, 0.3, number);
        boolean images = conf instanceof PrimaryCapsules;
        INDArray input =
                images ? gaussian(random, 1, EXAMPLES, 8, STEPS, STEPS) : gaussian(random, 1, EXAMPLES, 8, STEPS);
        INDArray mask = images ? null : Nd4j.ones(DataType.FLOAT, EXAMPLES, STEPS);
        if (!images) {
            mask.putScalar(0, STEPS - 1, 0);
        }
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        INDArray epsilon =
                gaussian(random, 1, dl4j.activate(input.dup(), true, NONE).shape());
        SingleLayer.Result expected = run(dl4j, input.dup(), epsilon);
        int kernels;
        try (Refusing whole = Refusing.of(conf, params, type, asked -> false)) {
            whole.twin().setMaskArray(mask);
            agree(expected, run(whole.twin(), input.castTo(type), epsilon.castTo(type)), type);
            kernels = whole.context().asked();
            assertEquals(Optional.empty(), whole.refused().reason());
        }
        assertTrue(kernels > 5, kernels + " kernels");
        int left = 0;
        for (int which : missing.apply(kernels).toArray()) {
            try (Refusing lacking = Refusing.of(conf, params, type, asked -> asked == which)) {
                lacking.twin().setMaskArray(mask);
                agree(expected, run(lacking.twin(), input.castTo(type), epsilon.castTo(type)), type);
                // Without a kernel that copies, ND4J copies.
                Optional<String> reason = lacking.refused().reason();
                String shape = Arrays.toString(input.shape());
                assertTrue(
                        reason.stream().allMatch(why -> why.contains(shape) && why.contains("no such primitive")),
                        reason::toString);
                left += reason.isPresent() ? 1 : 0;
                int asked = lacking.context().asked();
                agree(expected, run(lacking.twin(), input.castTo(type), epsilon.castTo(type)), type);
                assertEquals(asked, lacking.context().asked(), "oneDNN isn't asked again");
            }
        }
        assertTrue(left > 0, "nothing was left to DL4J");
    }

    private static void agree(SingleLayer.Result expected, SingleLayer.Result actual, DataType type) {
        double bound = 2 * Agreement.rounding(type) + 1e-5;
        Agreement.assertWithin("output", expected.output(), actual.output(), bound);
        Agreement.assertWithin("input gradient", expected.inputGradient(), actual.inputGradient(), bound);
        expected.gradient()
                .gradientForVariable()
                .forEach((name, gradient) -> Agreement.assertWithin(name, gradient, actual.gradient(name), bound));
    }

    private static Stream<Arguments> networks() {
        return Arrays.stream(SequenceNetwork.values())
                .filter(SequenceNetwork::isInStock)
                .flatMap(kind -> Types.precisions().stream().map(precision -> Arguments.of(kind, precision)));
    }

    @TempDir
    private Path folder;

    /** Runs something while the engine can be found by its name, and returns the lines that it logs of shapes. */
    private List<String> withEngine(Runnable action) throws IOException {
        Logger log = (Logger) LoggerFactory.getLogger(RefusedShapes.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        log.addAppender(lines);
        try {
            RefusingEngine.whileFound(folder, action);
        } finally {
            log.detachAppender(lines);
        }
        return lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    private static void refusing(Runnable action) {
        RefusingEngine.refuse(asked -> true);
        action.run();
        RefusingEngine.refuse(asked -> false);
    }

    /** Returns what DL4J's layers compute: the layer in front is an LSTM, which is refused, too. */
    private static boolean isLeft(MixedPrecision amp, String layer) {
        return amp.plan().row(layer).reason().contains("DL4J's own code for input of shape [4, 8, 6]");
    }

    @ParameterizedTest
    @MethodSource("networks")
    void inTheMiddleOfTrainingAShapeIsLeftToDl4jWithOneLineOfTheLog(SequenceNetwork kind, Precision precision)
            throws IOException {
        Model stock = kind.make(new Sgd(0.1));
        Model ours = kind.make(new Sgd(0.1));
        INDArray before = stock.params().dup();
        AmpConfig config = AmpConfig.builder()
                .engine(RefusingEngine.NAME)
                .precision(precision)
                .lossScaler(new StaticLossScaler(256))
                .build();
        List<String> lines = withEngine(() -> {
            try (MixedPrecision amp = MixedPrecision.enable(ours, config)) {
                both(stock, ours, batch(1, 6, true));
                assertFalse(isLeft(amp, SequenceNetwork.MIDDLE), amp.plan()::toString);
                Networks.fit(stock, batch(2, 4, true));
                refusing(() -> Networks.fit(ours, batch(2, 4, true)));
                both(stock, ours, batch(3, 6, true));
                both(stock, ours, batch(4, 4, true));
                assertTrue(isLeft(amp, SequenceNetwork.MIDDLE), amp.plan()::toString);
                assertEquals(precision, amp.plan().row(SequenceNetwork.MIDDLE).precision());
                assertEquals(4, amp.stepsTaken());
            }
        });
        double bound = precision == Precision.FLOAT ? 4e-5 : 4e-2;
        Agreement.assertWithin(
                "change", stock.params().sub(before), ours.params().sub(before), bound);
        assertEquals(
                1, lines.stream().filter(line -> line.contains("\"middle\"")).count(), lines::toString);
        assertEquals(lines.size(), lines.stream().distinct().count(), lines::toString);
    }

    private static void both(Model stock, Model ours, DataSet data) {
        Networks.fit(stock, data);
        Networks.fit(ours, data);
    }

    /** DL4J's own layer fails. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void learnedQueriesSayWhichShapeCannotBeComputed(Precision precision) throws IOException {
        Model network = SequenceNetwork.LEARNED_SELF_ATTENTION.make(new Sgd(0.1));
        INDArray before = network.params().dup();
        AmpConfig config = AmpConfig.builder()
                .engine(RefusingEngine.NAME)
                .precision(precision)
                .build();
        withEngine(() -> {
            try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
                refusing(() -> {
                    String message = assertThrows(AmpException.class, () -> Networks.fit(network, batch(1, 6, true)))
                            .getMessage();
                    assertTrue(message.contains("[6, 8, 6]") && message.contains("fewer time steps"), message);
                });
                assertEquals(before, network.params());
                Networks.fit(network, batch(2, 6, true));
                assertEquals(1, amp.stepsTaken());
            }
        });
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("networks")
    void inInferenceModeAShapeIsLeftToDl4j(SequenceNetwork kind, Precision precision) throws IOException {
        Model network = kind.make(new Sgd(0.1));
        DataSet data = batch(1, 4, true);
        INDArray expected = output(network, data);
        AmpConfig config = AmpConfig.builder()
                .engine(RefusingEngine.NAME)
                .precision(precision)
                .build();
        double bound = precision == Precision.FLOAT ? 1e-5 : 1e-2;
        List<String> lines = withEngine(() -> {
            try (InferenceMode mode = MixedPrecision.inference(network, config)) {
                refusing(() -> Agreement.assertWithin("refused", expected, output(network, data), bound));
                Agreement.assertWithin("again", expected, output(network, data), bound);
                String reason = mode.plan().row(SequenceNetwork.MIDDLE).reason();
                assertTrue(reason.contains("DL4J's own code"), reason);
            }
        });
        assertEquals(lines.size(), lines.stream().distinct().count(), lines::toString);
    }

    private static INDArray output(Model network, DataSet data) {
        INDArray mask = data.getFeaturesMaskArray();
        return network instanceof ComputationGraph graph
                ? graph.output(false, new INDArray[] {data.getFeatures()}, new INDArray[] {mask})[0]
                : ((MultiLayerNetwork) network).output(data.getFeatures(), false, mask, mask);
    }

    private static MultiLayerNetwork graves(BackpropType type) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Sgd(0.1))
                .list()
                .layer(new GravesLSTM.Builder()
                        .nOut(UNITS)
                        .activation(Activation.TANH)
                        .build())
                .layer(recurrent(new LSTM.Builder().nIn(UNITS)))
                .layer(Networks.rnnRegression(2))
                .setInputType(InputType.recurrent(8))
                .backpropType(type)
                .tBPTTLength(4)
                .build());
    }

    private static DataSet steps(Random random, int steps) {
        return new DataSet(gaussian(random, 1, EXAMPLES, 8, steps), gaussian(random, 1, EXAMPLES, 2, steps));
    }

    /** The last segment of ten steps has two, which DL4J's layers compute: the state goes there and back. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void theStateGoesOnBetweenShapesThatAreRefusedAndOthers(Precision precision) throws IOException {
        MultiLayerNetwork stock = graves(BackpropType.TruncatedBPTT);
        MultiLayerNetwork ours = graves(BackpropType.TruncatedBPTT);
        INDArray before = stock.params().dup();
        Random random = new Random(4);
        AmpConfig config = AmpConfig.builder()
                .engine(RefusingEngine.NAME)
                .precision(precision)
                .build();
        double bound = precision == Precision.FLOAT ? 4e-5 : 4e-2;
        withEngine(() -> {
            try (MixedPrecision amp = MixedPrecision.enable(ours, config)) {
                DataSet two = steps(random, 2);
                stock.fit(two);
                refusing(() -> ours.fit(two));
                for (int i = 0; i < 2; i++) {
                    both(stock, ours, steps(random, 10));
                }
                for (int length : new int[] {3, 2, 3}) {
                    INDArray features = steps(random, length).getFeatures();
                    Agreement.assertWithin(
                            "time steps", stock.rnnTimeStep(features), ours.rnnTimeStep(features), bound);
                }
                assertTrue(amp.plan().row("layer0").reason().contains("[3, 8, 2]"), amp.plan()::toString);
            }
        });
        Agreement.assertWithin(
                "change", stock.params().sub(before), ours.params().sub(before), bound);
    }
}
