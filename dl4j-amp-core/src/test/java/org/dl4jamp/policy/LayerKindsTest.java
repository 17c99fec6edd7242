package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLambdaLayer;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLambdaVertex;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.preprocessor.BaseInputPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.ComposableInputPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.precision.LayerKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.BaseActivationFunction;
import org.nd4j.linalg.api.ndarray.INDArray;

public class LayerKindsTest {
    private static LayerKind of(Layer layer) {
        return LayerKinds.verdict(layer).kind();
    }

    private static LayerKind of(GraphVertex vertex) {
        return LayerKinds.verdict(vertex).kind();
    }

    @Test
    void everyLayerAndVertexClassOfDl4jHasItsOwnLineInTheTable() throws Exception {
        List<Class<?>> classes =
                concreteClasses(type -> Layer.class.isAssignableFrom(type) || GraphVertex.class.isAssignableFrom(type));

        assertTrue(classes.size() > 80, "the scan found only " + classes);
        assertEquals(
                List.of(),
                classes.stream()
                        .filter(type -> !LayerTable.FAMILIES.containsKey(type))
                        .toList());
    }

    @Test
    void everyPreprocessorOfDl4jIsKnownToPreserveTheType() throws Exception {
        // A new class has to be looked at, since its package alone makes it one of these.
        String lookedAt = """
                Cnn3DToFeedForwardPreProcessor CnnToFeedForwardPreProcessor CnnToRnnPreProcessor
                ComposableInputPreProcessor FeedForwardToCnn3DPreProcessor FeedForwardToCnnPreProcessor
                FeedForwardToRnnPreProcessor KerasFlattenRnnPreprocessor PermutePreprocessor ReshapePreprocessor
                RnnToCnnPreProcessor RnnToFeedForwardPreProcessor
                """;
        List<Class<?>> classes = concreteClasses(InputPreProcessor.class::isAssignableFrom);

        assertEquals(
                Set.of(lookedAt.split("\\s+")),
                classes.stream().map(Class::getSimpleName).collect(Collectors.toSet()));
        assertEquals(
                List.of(),
                classes.stream().filter(type -> !LayerKinds.preservesType(type)).toList());
    }

    @Test
    void anAnonymousPreprocessorIsNamedByItsFullName() {
        OwnPreProcessor anonymous = new OwnPreProcessor() {};

        assertEquals(
                Optional.of("the preprocessor " + anonymous.getClass().getName() + " is unknown to dl4j-amp"),
                LayerKinds.needsFloat(anonymous));
    }

    @Test
    void productsAreLoweredAndLossesStayFull() {
        assertEquals(LayerKind.LOWER, of(Plans.dense("a")));
        assertEquals(LayerKind.LOWER, of(Plans.conv("a")));
        assertEquals(LayerKind.LOWER, of(lstm()));
        assertEquals(
                LayerKind.LOWER, of(new EmbeddingLayer.Builder().nIn(9).nOut(3).build()));
        assertEquals(new LayerKinds.Verdict(LayerKind.FULL, "loss in FP32"), LayerKinds.verdict(Plans.output("a")));
    }

    @Test
    void normalizationsAndPretrainedLayersStayFull() {
        assertEquals(
                new LayerKinds.Verdict(LayerKind.FULL, "statistics and parameters in FP32"),
                LayerKinds.verdict(Plans.batchNorm("a")));
        assertEquals(LayerKind.FULL, of(new LocalResponseNormalization.Builder().build()));
        assertEquals(LayerKind.FULL, of(new AutoEncoder.Builder().nIn(4).nOut(2).build()));
        assertEquals(LayerKind.FULL, of(new L2NormalizeVertex()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Activation.class,
            names = {"SOFTMAX", "SOFTPLUS", "SWISH", "GELU", "MISH", "CUBE", "RATIONALTANH"})
    void sensitiveActivationFunctionsStayFullOnTheirOwn(Activation activation) {
        assertEquals(LayerKind.FULL, of(new ActivationLayer(activation)));
    }

    @ParameterizedTest
    @EnumSource(Activation.class)
    void softmaxKeepsALayerWithProductsFullAndOtherFunctionsDoNot(Activation activation) {
        LayerKind expected = activation == Activation.SOFTMAX ? LayerKind.FULL : LayerKind.LOWER;

        assertEquals(
                expected,
                of(new DenseLayer.Builder()
                        .nIn(4)
                        .nOut(4)
                        .activation(activation)
                        .build()));
        assertEquals(
                expected,
                of(new LocallyConnected2D.Builder()
                        .nIn(4)
                        .nOut(4)
                        .activation(activation)
                        .build()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Activation.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"SOFTMAX", "SOFTPLUS", "SWISH", "GELU", "MISH", "CUBE", "RATIONALTANH"})
    void otherActivationFunctionsFollow(Activation activation) {
        assertEquals(LayerKind.FOLLOW, of(new ActivationLayer(activation)));
    }

    @Test
    void anActivationFunctionThatALayerDoesNotUseSaysNothing() {
        assertEquals(
                LayerKind.FOLLOW,
                of(new DropoutLayer.Builder(0.5).activation(Activation.SOFTMAX).build()));
    }

    @Test
    void anActivationFunctionOfTheUsersStaysFull() {
        ActivationLayer layer = new ActivationLayer(new OwnActivation());

        assertEquals(LayerKind.FULL, of(layer));
        assertTrue(LayerKinds.verdict(layer).reason().contains("its activation function is unknown to dl4j-amp"));
    }

    @Test
    void poolingFollowsUnlessItTakesPowersOrSumsOverEverything() {
        assertEquals(LayerKind.FOLLOW, of(new SubsamplingLayer.Builder(PoolingType.AVG).build()));
        assertEquals(LayerKind.FOLLOW, of(new SubsamplingLayer.Builder(PoolingType.MAX).build()));
        assertEquals(
                LayerKind.FULL,
                of(new SubsamplingLayer.Builder(PoolingType.PNORM).pnorm(2).build()));
        assertEquals(LayerKind.FOLLOW, of(new GlobalPoolingLayer(PoolingType.MAX)));
        assertEquals(LayerKind.FULL, of(new GlobalPoolingLayer(PoolingType.AVG)));
        assertEquals(LayerKind.FULL, of(new GlobalPoolingLayer(PoolingType.SUM)));
        assertEquals(LayerKind.FULL, of(new GlobalPoolingLayer(PoolingType.PNORM)));
    }

    @Test
    void wrappersTakeTheKindOfWhatTheyWrap() {
        assertEquals(LayerKind.LOWER, of(new Bidirectional(lstm())));
        assertEquals(LayerKind.LOWER, of(new LastTimeStep(new Bidirectional(lstm()))));
        assertEquals(LayerKind.LOWER, of(new TimeDistributed(Plans.dense("a"))));
        assertEquals(LayerKind.LOWER, of(new FrozenLayer(Plans.conv("a"))));
        assertEquals(LayerKind.FULL, of(new FrozenLayerWithBackprop(Plans.batchNorm("a"))));
        assertEquals(LayerKind.FULL, of(new FrozenLayer(new OwnLambda())));
        assertEquals(
                LayerKind.LOWER,
                of(new LayerVertex(
                        new NeuralNetConfiguration.Builder()
                                .layer(Plans.dense("a"))
                                .build(),
                        null)));
        assertEquals(LayerKind.FOLLOW, of(new FrozenVertex(new ElementWiseVertex(ElementWiseVertex.Op.Add))));
    }

    @Test
    void aLayerThatMasksByValueIsOfTheKindOfWhatItWraps() {
        assertEquals(LayerKind.LOWER, of(new MaskZeroLayer(lstm(), 0.1)));
    }

    @Test
    void classesOfTheUsersStayFullAndSayHowToLowerThem() {
        LayerKinds.Verdict verdict = LayerKinds.verdict(new OwnLambda());

        assertEquals(LayerKind.FULL, verdict.kind());
        assertEquals("OwnLambda is unknown to dl4j-amp; lower(...) asks for half precision", verdict.reason());
        assertEquals(LayerKind.FULL, of(new OwnLambdaVertex()));
    }

    @Test
    void subclassesTakeTheKindOfTheNearestKnownClass() {
        assertFalse(LayerTable.FAMILIES.containsKey(OwnDense.class));
        assertEquals(LayerKind.LOWER, of(new OwnDense()));
    }

    @Test
    void aPreprocessorVertexFollowsIfItsPreprocessorPreservesTheType() {
        assertEquals(LayerKind.FOLLOW, of(new PreprocessorVertex(new RnnToFeedForwardPreProcessor())));
        assertEquals(LayerKind.FULL, of(new PreprocessorVertex(new OwnPreProcessor())));
        assertEquals(
                LayerKind.FULL,
                of(new PreprocessorVertex(
                        new ComposableInputPreProcessor(new RnnToFeedForwardPreProcessor(), new OwnPreProcessor()))));
    }

    private static Layer lstm() {
        return new LSTM.Builder().nIn(4).nOut(4).activation(Activation.TANH).build();
    }

    public static List<Class<?>> concreteClasses(Predicate<Class<?>> wanted)
            throws IOException, URISyntaxException, ClassNotFoundException {
        Path jar = Path.of(DenseLayer.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        List<Class<?>> classes = new ArrayList<>();
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            List<String> names = zip.stream()
                    .map(e -> e.getName())
                    .filter(name -> name.endsWith(".class") && name.startsWith("org/deeplearning4j/"))
                    .filter(name -> Stream.of("/conf/", "/preprocessors/").anyMatch(name::contains))
                    .map(name -> name.replace('/', '.').substring(0, name.length() - ".class".length()))
                    .toList();
            for (String name : names) {
                Class<?> type = Class.forName(name, false, DenseLayer.class.getClassLoader());
                if (wanted.test(type) && !Modifier.isAbstract(type.getModifiers()) && !type.isInterface()) {
                    classes.add(type);
                }
            }
        }
        return classes;
    }

    static class OwnDense extends DenseLayer {
        private static final long serialVersionUID = 1L;
    }

    static class OwnLambda extends SameDiffLambdaLayer {
        private static final long serialVersionUID = 1L;

        @Override
        public SDVariable defineLayer(SameDiff sameDiff, SDVariable layerInput) {
            return layerInput.mul(2);
        }

        @Override
        public InputType getOutputType(int layerIndex, InputType inputType) {
            return inputType;
        }
    }

    static class OwnLambdaVertex extends SameDiffLambdaVertex {
        private static final long serialVersionUID = 1L;

        @Override
        public SDVariable defineVertex(SameDiff sameDiff, VertexInputs inputs) {
            return inputs.getInput(0);
        }
    }

    static class OwnActivation extends BaseActivationFunction {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            return in;
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            return new Pair<>(epsilon, null);
        }
    }

    static class OwnPreProcessor extends BaseInputPreProcessor {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray preProcess(INDArray input, int miniBatchSize, LayerWorkspaceMgr workspaceMgr) {
            return input;
        }

        @Override
        public INDArray backprop(INDArray output, int miniBatchSize, LayerWorkspaceMgr workspaceMgr) {
            return output;
        }

        @Override
        public InputType getOutputType(InputType inputType) {
            return inputType;
        }
    }

    @ParameterizedTest
    @EnumSource(PoolingType.class)
    void powersAndSumsOverAllPositionsOverflowAndOtherPoolingDoesnt(PoolingType pooling) {
        SubsamplingLayer window = new SubsamplingLayer.Builder(2, 2).build();
        window.setPoolingType(pooling);
        Subsampling3DLayer cube = new Subsampling3DLayer.Builder(2, 2, 2).build();
        cube.setPoolingType(pooling);
        boolean powers = pooling == PoolingType.PNORM;
        assertEquals(powers, LayerKinds.overflow(window).isPresent());
        assertEquals(powers, LayerKinds.overflow(cube).isPresent());
        GlobalPoolingLayer global = new GlobalPoolingLayer(pooling);
        assertEquals(
                powers || pooling == PoolingType.SUM,
                LayerKinds.overflow(global).isPresent());
    }

    private static List<Layer> locallyConnectedAndAttention(Activation activation) {
        return List.of(
                new LocallyConnected1D.Builder()
                        .nIn(2)
                        .nOut(2)
                        .kernelSize(1)
                        .activation(activation)
                        .build(),
                new LocallyConnected2D.Builder()
                        .nIn(2)
                        .nOut(2)
                        .kernelSize(1, 1)
                        .activation(activation)
                        .build(),
                new RecurrentAttentionLayer.Builder()
                        .nIn(2)
                        .nOut(2)
                        .nHeads(1)
                        .activation(activation)
                        .build());
    }

    @Test
    void softmaxAloneKeepsLocallyConnectedAndAttentionLayersFull() {
        for (Activation activation : List.of(Activation.CUBE, Activation.RELU, Activation.SOFTMAX)) {
            LayerKind expected = activation == Activation.SOFTMAX ? LayerKind.FULL : LayerKind.LOWER;
            for (Layer layer : locallyConnectedAndAttention(activation)) {
                assertEquals(expected, of(layer), layer + " with " + activation);
                assertTrue(LayerKinds.overflow(layer).isEmpty(), layer + " with " + activation);
            }
        }
    }

    @Test
    void softmaxLosesDigitsAndDoesNotOverflow() {
        assertTrue(LayerKinds.overflow(new ActivationLayer(Activation.SOFTMAX)).isEmpty());
        assertTrue(LayerKinds.overflow(new ActivationLayer(Activation.CUBE)).isPresent());
    }

    @Test
    void frozenLayersAreLookedThroughAndOtherWrappersArent() {
        Layer dense = Plans.dense("d");
        assertSame(dense, LayerKinds.frozen(dense));
        assertSame(dense, LayerKinds.frozen(new FrozenLayer(dense)));
        assertSame(dense, LayerKinds.frozen(new FrozenLayerWithBackprop(new FrozenLayer(dense))));
        assertSame(dense, LayerKinds.frozen(new FrozenLayer(new FrozenLayerWithBackprop(dense))));
        Layer last = new LastTimeStep(new LSTM.Builder().nIn(2).nOut(2).build());
        assertSame(last, LayerKinds.frozen(new FrozenLayer(last)));
    }
}
