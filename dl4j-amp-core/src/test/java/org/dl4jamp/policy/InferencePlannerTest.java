package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class InferencePlannerTest {
    /**
     * An engine that computes FP32 and all vertices.
     *
     * @param sums whether it adds to products
     * @param unable functions that it can't apply in a product layer
     * @param others layers that it leaves to DL4J
     */
    private record Engine(boolean sums, Set<Class<?>> unable, Set<Class<?>> others) implements EngineAbility {
        static final Engine ABLE = new Engine(true, Set.of(), Set.of());

        @Override
        public String name() {
            return "test";
        }

        @Override
        public Optional<String> cannot(Layer layer, Precision precision) {
            boolean cannot = others.contains(layer.getClass())
                    || (layer instanceof ConvolutionLayer convolution
                            && unable.contains(convolution.getActivationFn().getClass()));
            return cannot ? Optional.of("no kernel") : Optional.empty();
        }

        @Override
        public boolean computesFloat() {
            return true;
        }

        @Override
        public boolean computes(GraphVertex vertex, Precision precision) {
            return true;
        }

        @Override
        public boolean sums(Layer layer) {
            return sums;
        }

        @Override
        public String how(Layer layer, Precision precision) {
            return "in " + precision;
        }
    }

    private static InferencePlan groups(NetworkGraph graph, EngineAbility engine, boolean placed) {
        return groups(graph, engine, Precision.FLOAT, placed, names(graph));
    }

    private static InferencePlan groups(
            NetworkGraph graph, EngineAbility engine, Precision precision, boolean placed, List<String> order) {
        PrecisionPlan plan = PrecisionPlanner.plan(graph, precision, OptLevel.O1, List.of(), engine, null);
        InferencePlan inference = InferencePlanner.groups(graph, plan, engine, order);
        return placed
                ? inference
                : new InferencePlan(
                        inference.plan(),
                        inference.groups().stream()
                                .map(InferencePlannerTest::withoutPlace)
                                .toList(),
                        inference.places());
    }

    private static FusionGroup withoutPlace(FusionGroup group) {
        return new FusionGroup(
                group.head(),
                group.normalization(),
                group.sum().map(sum -> new FusionGroup.Sum(sum.vertex(), sum.summand(), false)),
                group.function(),
                Optional.empty());
    }

    private static List<String> names(NetworkGraph graph) {
        return graph.nodes().stream().map(NetworkGraph.Node::name).toList();
    }

    private static Layer relu(String name) {
        return function(name, new ActivationReLU());
    }

    private static Layer function(String name, IActivation function) {
        return new ActivationLayer.Builder().name(name).activation(function).build();
    }

    private static FusionGroup group(String head, String normalization, String function) {
        return new FusionGroup(
                head,
                Optional.ofNullable(normalization),
                Optional.empty(),
                Optional.ofNullable(function),
                Optional.empty());
    }

    private static List<FusionGroup> inChain(Layer... layers) {
        return groups(Plans.chain(layers), Engine.ABLE, false).groups();
    }

    @Test
    void whatFollowsAConvolutionIsComputedWithItAndThePlanSaysSo() {
        NetworkGraph graph = Plans.chain(
                Plans.conv("c"), Plans.batchNorm("n"), relu("r"), Plans.conv("d"), relu("s"), Plans.output("out"));
        InferencePlan plan = groups(graph, Engine.ABLE, false);

        assertEquals(List.of(group("c", "n", "r"), group("d", null, "s")), plan.groups());
        assertEquals(Optional.of(plan.groups().get(0)), plan.ledBy("c"));
        assertEquals(Optional.empty(), plan.ledBy("n"));
        assertEquals(Optional.of(plan.groups().get(1)), plan.followedBy("s"));
        assertEquals(Optional.empty(), plan.followedBy("d"));
        PrecisionPlan rows = plan.plan();
        assertEquals(
                "in FLOAT; \"n\" folded into its weights; the function of \"r\" applied in one pass",
                rows.row("c").reason());
        assertEquals("folded into \"c\"", rows.row("n").reason());
        assertEquals("computed by \"c\"", rows.row("r").reason());
        assertEquals("in FLOAT", rows.row("out").reason());
        assertEquals("test", rows.row("r").engine());
    }

    @Test
    void theGroupNamesItsFollowersInTheirOrderAndTheLastOne() {
        FusionGroup all = new FusionGroup(
                "c",
                Optional.of("n"),
                Optional.of(new FusionGroup.Sum("add", 1, false)),
                Optional.of("r"),
                Optional.empty());
        assertEquals(List.of("n", "add", "r"), all.followers());
        assertEquals("r", all.tail());
        assertEquals("n", group("c", "n", null).tail());
        assertEquals(Optional.of(3), all.at(3, false).place());
        assertEquals(all.followers(), all.at(3, false).followers());
    }

    private static Stream<List<Layer>> chainsWithoutGroups() {
        DenseLayer normalizing = new DenseLayer.Builder()
                .nIn(4)
                .nOut(4)
                .activation(Activation.IDENTITY)
                .hasLayerNorm(true)
                .build();
        Convolution3D cube = new Convolution3D.Builder(1, 1, 1)
                .nIn(4)
                .nOut(4)
                .activation(Activation.IDENTITY)
                .build();
        ConvolutionLayer channelsLast = new ConvolutionLayer.Builder(1, 1)
                .nIn(4)
                .nOut(4)
                .dataFormat(CNN2DFormat.NHWC)
                .activation(Activation.IDENTITY)
                .build();
        BatchNormalization narrow =
                new BatchNormalization.Builder().nIn(3).nOut(3).build();
        return Stream.of(
                // Its own function comes first.
                List.of(Plans.dense("d"), relu("r")),
                List.of(normalizing, relu("r")),
                List.of(new SubsamplingLayer.Builder(2, 2).build(), relu("r")),
                List.of(Plans.batchNorm("n"), relu("r")),
                List.of(cube, Plans.batchNorm("n")),
                List.of(channelsLast, Plans.batchNorm("n")),
                List.of(Plans.conv("c"), narrow),
                // No functions of one value, or not the same in each pass.
                List.of(Plans.conv("c"), function("f", new ActivationSoftmax())),
                List.of(
                        Plans.conv("c"),
                        function("f", new ActivationPReLU(Nd4j.zeros(DataType.FLOAT, 1, 4), new long[] {1}))),
                List.of(Plans.conv("c"), function("f", Activation.RRELU.getActivationFunction())),
                List.of(Plans.conv("c"), Plans.conv("d")));
    }

    @ParameterizedTest
    @MethodSource("chainsWithoutGroups")
    void layersThatDontFitTogetherAreNoGroup(List<Layer> layers) {
        List<Layer> all = new ArrayList<>(layers);
        all.add(Plans.output("out"));
        assertEquals(List.of(), inChain(all.toArray(Layer[]::new)));
    }

    @Test
    void aConvolutionAlongThreeAxesTakesAFunctionAndADenseLayerANormalization() {
        Convolution3D cube = new Convolution3D.Builder(1, 1, 1)
                .name("cube")
                .nIn(4)
                .nOut(4)
                .activation(Activation.IDENTITY)
                .build();
        assertEquals(List.of(group("cube", null, "r")), inChain(cube, relu("r"), Plans.output("out")));
        DenseLayer dense = new DenseLayer.Builder()
                .name("d")
                .nIn(4)
                .nOut(4)
                .activation(Activation.IDENTITY)
                .build();
        assertEquals(List.of(group("d", "n", null)), inChain(dense, Plans.batchNorm("n"), Plans.output("out")));
    }

    @Test
    void aDepthwiseConvolutionHasAChannelForEachInputAndMultiplier() {
        for (int multiplier : new int[] {1, 2}) {
            DepthwiseConvolution2D depthwise = new DepthwiseConvolution2D.Builder(1, 1)
                    .name("c")
                    .nIn(4)
                    .depthMultiplier(multiplier)
                    .activation(Activation.IDENTITY)
                    .build();
            for (int channels : new int[] {2, 4, 8}) {
                BatchNormalization normalization = new BatchNormalization.Builder()
                        .name("n")
                        .nIn(channels)
                        .nOut(channels)
                        .build();
                List<FusionGroup> expected = channels == 4 * multiplier ? List.of(group("c", "n", null)) : List.of();
                assertEquals(expected, inChain(depthwise, normalization, Plans.output("out")));
            }
        }
    }

    @Test
    void frozenLayersLeadAndFollow() {
        Layer frozen = new FrozenLayer(Plans.conv("c"));
        List<FusionGroup> found =
                inChain(frozen, new FrozenLayer(Plans.batchNorm("n")), relu("r"), Plans.output("out"));
        assertEquals(1, found.size());
        assertEquals(2, found.get(0).followers().size());
    }

    @Test
    void theConfigurationOfAGroupHasABiasAndTheFunctionAndTheHeadStaysAsItIs() {
        for (Layer head : List.of(
                new DenseLayer.Builder()
                        .nIn(2)
                        .nOut(2)
                        .hasBias(false)
                        .activation(Activation.IDENTITY)
                        .build(),
                new ConvolutionLayer.Builder(1, 1)
                        .nIn(2)
                        .nOut(2)
                        .hasBias(false)
                        .activation(Activation.IDENTITY)
                        .build(),
                new Deconvolution2D.Builder(1, 1)
                        .nIn(2)
                        .nOut(2)
                        .hasBias(false)
                        .activation(Activation.IDENTITY)
                        .build())) {
            IActivation tanh = Activation.TANH.getActivationFunction();
            assertEquals("true TANH", describe(InferencePlanner.configuration(head, true, tanh)));
            assertEquals("true IDENTITY", describe(InferencePlanner.configuration(head, true, null)));
            assertEquals("false TANH", describe(InferencePlanner.configuration(head, false, tanh)));
            assertEquals("false IDENTITY", describe(head));
        }
    }

    private static String describe(Layer layer) {
        boolean bias = layer instanceof DenseLayer dense ? dense.hasBias() : ((ConvolutionLayer) layer).hasBias();
        IActivation function = ((org.deeplearning4j.nn.conf.layers.BaseLayer) layer).getActivationFn();
        return bias + " " + function.toString().toUpperCase(java.util.Locale.ROOT);
    }

    @Test
    void nothingIsComputedAtOnceWithWhatAnotherEngineComputes() {
        NetworkGraph graph = Plans.chain(Plans.conv("c"), Plans.batchNorm("n"), relu("r"), Plans.output("out"));
        Engine withoutNorm = new Engine(true, Set.of(), Set.of(BatchNormalization.class));
        assertEquals(List.of(), groups(graph, withoutNorm, false).groups());
        Engine withoutConv = new Engine(true, Set.of(), Set.of(ConvolutionLayer.class));
        assertEquals(List.of(), groups(graph, withoutConv, false).groups());
    }

    @Test
    void aFunctionThatTheEngineCantApplyToProductsIsLeftOut() {
        NetworkGraph graph = Plans.chain(Plans.conv("c"), Plans.batchNorm("n"), relu("r"), Plans.output("out"));
        Engine engine = new Engine(true, Set.of(ActivationReLU.class), Set.of());
        assertEquals(
                List.of(group("c", "n", null)), groups(graph, engine, false).groups());
        NetworkGraph without = Plans.chain(Plans.conv("c"), relu("r"), Plans.output("out"));
        assertEquals(List.of(), groups(without, engine, false).groups());
    }

    @Test
    void layersBetweenWhichATypeChangesAreNoGroup() {
        // The loss's input is FP32: the function returns another type than the convolution.
        NetworkGraph graph =
                Plans.chain(Plans.conv("a"), Plans.conv("c"), relu("r"), Plans.batchNorm("n"), Plans.output("out"));
        PrecisionPlan mixed = PrecisionPlanner.plan(graph, Precision.HALF, OptLevel.O1, List.of(), Engine.ABLE, null);
        InferencePlan plan = InferencePlanner.groups(graph, mixed, Engine.ABLE, names(graph));
        for (FusionGroup group : plan.groups()) {
            assertEquals(
                    mixed.row(group.head()).output(), mixed.row(group.tail()).output());
        }
    }

    @Test
    void aPreprocessorInBetweenSeparatesLayers() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("c", Plans.conv(null), "x")
                .addLayer("r", relu(null), new FeedForwardToCnnPreProcessor(1, 1, 4), "c")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out"));
        assertEquals(List.of(), groups(graph, Engine.ABLE, false).groups());
    }

    @Test
    void aLayerWhoseResultSomebodyElseReadsIsNotInAGroup() {
        NetworkGraph twice = Plans.built(Plans.graph("x")
                .addLayer("c", Plans.conv(null), "x")
                .addLayer("r", relu(null), "c")
                .addLayer("out", Plans.output(null), "r")
                .addLayer("other", Plans.output(null), "c")
                .setOutputs("out", "other"));
        assertEquals(List.of(), groups(twice, Engine.ABLE, false).groups());
        NetworkGraph output = Plans.built(Plans.graph("x")
                .addLayer("c", Plans.conv(null), "x")
                .addLayer("r", relu(null), "c")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out", "c"));
        assertEquals(List.of(), groups(output, Engine.ABLE, false).groups());
    }

    private static GraphBuilder block(GraphVertex vertex, String... summands) {
        return Plans.graph("x")
                .addLayer("stem", Plans.conv(null), "x")
                .addLayer("c", Plans.conv(null), "stem")
                .addLayer("n", Plans.batchNorm(null), "c")
                .addVertex("add", vertex, summands)
                .addLayer("r", relu(null), "add")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out");
    }

    private static FusionGroup inBlock(Integer summand, String function) {
        return new FusionGroup(
                "c",
                Optional.of("n"),
                Optional.ofNullable(summand).map(input -> new FusionGroup.Sum("add", input, false)),
                Optional.ofNullable(function),
                Optional.empty());
    }

    @Test
    void aResidualSumIsAddedToTheProductsWhicheverInputItIs() {
        ElementWiseVertex add = new ElementWiseVertex(ElementWiseVertex.Op.Add);
        NetworkGraph second = Plans.built(block(add, "n", "stem"));
        InferencePlan plan = groups(second, Engine.ABLE, false);
        assertEquals(List.of(inBlock(1, "r")), plan.groups());
        assertEquals(
                "in FLOAT; \"n\" folded into its weights; the sum of \"add\" added; the function of \"r\" applied in"
                        + " one pass",
                plan.plan().row("c").reason());
        assertEquals("computed by \"c\"", plan.plan().row("add").reason());
        NetworkGraph first = Plans.built(block(add, "stem", "n"));
        assertEquals(List.of(inBlock(0, "r")), groups(first, Engine.ABLE, false).groups());
    }

    @Test
    void anEngineThatDoesntAddLeavesTheSumAndWhatIsBehindIt() {
        NetworkGraph graph = Plans.built(block(new ElementWiseVertex(ElementWiseVertex.Op.Add), "n", "stem"));
        Engine engine = new Engine(false, Set.of(), Set.of());
        assertEquals(List.of(inBlock(null, null)), groups(graph, engine, false).groups());
        Engine withoutRelu = new Engine(true, Set.of(ActivationReLU.class), Set.of());
        assertEquals(
                List.of(inBlock(1, null)), groups(graph, withoutRelu, false).groups());
    }

    @Test
    void onlySumsOfTwoArraysAreAdded() {
        for (ElementWiseVertex.Op op : ElementWiseVertex.Op.values()) {
            NetworkGraph graph = Plans.built(block(new ElementWiseVertex(op), "n", "stem"));
            Integer summand = op == ElementWiseVertex.Op.Add ? 1 : null;
            assertEquals(
                    List.of(inBlock(summand, summand == null ? null : "r")),
                    groups(graph, Engine.ABLE, false).groups(),
                    op.name());
        }
        ElementWiseVertex add = new ElementWiseVertex(ElementWiseVertex.Op.Add);
        NetworkGraph three = Plans.built(block(add, "n", "stem", "stem"));
        assertEquals(
                List.of(inBlock(null, null)), groups(three, Engine.ABLE, false).groups());
        NetworkGraph scaled = Plans.built(block(new ScaleVertex(2), "n"));
        assertEquals(
                List.of(inBlock(null, null)), groups(scaled, Engine.ABLE, false).groups());
    }

    @Test
    void theSumOfTwoConvolutionsIsTheLaterOnes() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("a", Plans.conv(null), "x")
                .addLayer("b", Plans.conv(null), "x")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "b")
                .addLayer("r", relu(null), "add")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out"));
        for (List<String> order :
                List.of(List.of("x", "a", "b", "add", "r", "out"), List.of("x", "b", "a", "add", "r", "out"))) {
            String later = order.get(2);
            FusionGroup expected = new FusionGroup(
                    later,
                    Optional.empty(),
                    Optional.of(new FusionGroup.Sum("add", later.equals("b") ? 0 : 1, false)),
                    Optional.of("r"),
                    Optional.empty());
            assertEquals(
                    List.of(expected),
                    groups(graph, Engine.ABLE, Precision.FLOAT, false, order).groups());
        }
    }

    @Test
    void resultsThatAreReadAtTheSameTimeHavePlacesOfTheirOwn() {
        GraphBuilder builder =
                Plans.graph("x").addLayer("c0", Plans.conv(null), "x").addLayer("r0", relu(null), "c0");
        for (int i = 1; i <= 3; i++) {
            builder.addLayer("c" + i, Plans.conv(null), "r" + (i - 1)).addLayer("r" + i, relu(null), "c" + i);
        }
        NetworkGraph graph =
                Plans.built(builder.addLayer("out", Plans.output(null), "r3").setOutputs("out"));
        // Each is read while the next one is written, and free for the one after that.
        assertEquals(List.of(0, 1, 0, 1), places(graph));
        assertTrue(groups(graph, Engine.ABLE, false).groups().stream()
                .allMatch(group -> group.place().isEmpty()));
    }

    private static List<Integer> places(NetworkGraph graph) {
        return groups(graph, Engine.ABLE, true).groups().stream()
                .map(group -> group.place().orElse(-1))
                .toList();
    }

    /**
     * Returns a residual block, with a layer behind it.
     *
     * @param product the input of the layer that makes the product
     * @param later another reader of the summand
     */
    private static NetworkGraph residual(String product, String later) {
        return Plans.built(Plans.graph("x")
                .addLayer("c0", Plans.conv(null), "x")
                .addLayer("r0", relu(null), "c0")
                .addLayer("c1", Plans.conv(null), "r0")
                .addLayer("r1", relu(null), "c1")
                .addLayer("c2", Plans.conv(null), product)
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "c2", "r0")
                .addLayer("r2", relu(null), "add")
                .addLayer("c3", Plans.conv(null), "r2")
                .addLayer("r3", relu(null), "c3")
                .addVertex("all", new ElementWiseVertex(ElementWiseVertex.Op.Add), "r1", "r3", later)
                .addLayer("out", Plans.output(null), "all")
                .setOutputs("out"));
    }

    private static List<Boolean> inPlace(NetworkGraph graph) {
        return groups(graph, Engine.ABLE, true).groups().stream()
                .map(group -> group.sum().filter(FusionGroup.Sum::endsSummand).isPresent())
                .toList();
    }

    @Test
    void aResultThatIsReadAgainLaterKeepsItsPlaceUntilThen() {
        assertEquals(List.of(0, 1, 2, 3), places(residual("r1", "r0")));
    }

    @Test
    void aSumIsWrittenOverASummandThatNothingReadsAfterwards() {
        NetworkGraph block = residual("r1", "r1");
        assertEquals(List.of(false, false, true, false), inPlace(block));
        // The first place is the sum's until its own reader is done, as is the one that it has besides.
        assertEquals(List.of(0, 1, 2, 3), places(block));
        NetworkGraph blocks = Plans.built(Plans.graph("x")
                .addLayer("c0", Plans.conv(null), "x")
                .addLayer("r0", relu(null), "c0")
                .addLayer("c1", Plans.conv(null), "r0")
                .addLayer("r1", relu(null), "c1")
                .addLayer("c2", Plans.conv(null), "r1")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "r0", "c2")
                .addLayer("c3", Plans.conv(null), "add")
                .addLayer("r3", relu(null), "c3")
                .addLayer("c4", Plans.conv(null), "r3")
                .addVertex("and", new ElementWiseVertex(ElementWiseVertex.Op.Add), "add", "c4")
                .addLayer("c5", Plans.conv(null), "and")
                .addLayer("r5", relu(null), "c5")
                .addLayer("out", Plans.output(null), "r5")
                .setOutputs("out"));
        assertEquals(List.of(false, false, true, false, true, false), inPlace(blocks));
        assertEquals(List.of(0, 1, 2, 1, 3, 1), places(blocks));
    }

    @Test
    void aSummandThatAnythingElseReadsIsNotOverwritten() {
        assertEquals(List.of(false, false, false, false), inPlace(residual("r1", "r0")), "a vertex behind the sum");
        assertEquals(List.of(false, false, false, false), inPlace(residual("r0", "r1")), "the product's own layer");
    }

    @Test
    void aSummandThatIsNoGroupsResultIsNotOverwritten() {
        ElementWiseVertex add = new ElementWiseVertex(ElementWiseVertex.Op.Add);
        assertEquals(List.of(false), inPlace(Plans.built(block(add, "n", "stem"))));
    }

    @Test
    void aResultThatALayerMightHandOnHasNoPlace() {
        for (Layer next : List.of(Plans.batchNorm("next"), relu("next"))) {
            NetworkGraph graph =
                    Plans.chain(Plans.conv("c"), relu("r"), next, Plans.conv("d"), relu("s"), Plans.output("out"));
            assertEquals(List.of(-1, 0), places(graph), next.toString());
        }
        NetworkGraph pooled = Plans.chain(
                Plans.conv("c"), relu("r"), new SubsamplingLayer.Builder(2, 2).build(), Plans.output("out"));
        assertEquals(List.of(0), places(pooled));
        NetworkGraph scaled = Plans.built(Plans.graph("x")
                .addLayer("c", Plans.conv(null), "x")
                .addLayer("r", relu(null), "c")
                .addVertex("next", new ScaleVertex(2), "r")
                .addLayer("out", Plans.output(null), "next")
                .setOutputs("out"));
        assertEquals(List.of(-1), places(scaled));
        Engine withoutPooling = new Engine(true, Set.of(), Set.of(SubsamplingLayer.class));
        assertEquals(
                Optional.empty(),
                groups(pooled, withoutPooling, true).groups().get(0).place(),
                "DL4J's own layers may hand their input on");
    }

    private static Map<String, Integer> places(Engine engine, Layer... layers) {
        return groups(Plans.chain(layers), engine, true).places();
    }

    private static Layer pooling(String name) {
        return new SubsamplingLayer.Builder(2, 2).name(name).build();
    }

    @Test
    void layersInNoGroupHavePlacesBesideThoseOfGroups() {
        Layer[] layers = {
            Plans.conv("c"),
            pooling("p"),
            Plans.conv("d"),
            relu("r"),
            pooling("q"),
            Plans.dense("f"),
            Plans.output("out")
        };
        NetworkGraph chain = Plans.chain(layers);
        assertEquals(Map.of("c", 0, "p", 1, "q", 1, "f", 0), places(Engine.ABLE, layers));
        assertEquals(List.of(0), places(chain));
        InferencePlan plan = groups(chain, Engine.ABLE, true);
        assertEquals("in FLOAT", plan.plan().row("p").reason());
        assertEquals(Optional.empty(), plan.ledBy("p"));
    }

    @Test
    void aLayerBeforeOneThatMayHandItsInputOnHasNoPlace() {
        Layer[] normalized = {pooling("p"), Plans.batchNorm("n"), Plans.conv("c"), Plans.output("out")};
        assertEquals(Map.of("c", 0), places(Engine.ABLE, normalized));
        Engine withoutPooling = new Engine(true, Set.of(), Set.of(SubsamplingLayer.class));
        assertEquals(Map.of(), places(withoutPooling, Plans.conv("c"), pooling("p"), Plans.output("out")));
    }

    @Test
    void aLayerBeforeALossHasAPlaceIfTheEngineComputesTheLoss() {
        Layer[] layers = {Plans.conv("c"), new CnnLossLayer.Builder(LossFunction.MSE).build()};
        assertEquals(Map.of("c", 0), places(Engine.ABLE, layers));
        Engine withoutLosses = new Engine(true, Set.of(), Set.of(CnnLossLayer.class));
        assertEquals(Map.of(), places(withoutLosses, layers), "DL4J's own layers may hand their input on");
    }

    @Test
    void aSumIsWrittenOverALayerInNoGroupWhoseReadersAreDone() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("p", pooling(null), "x")
                .addLayer("c", Plans.conv(null), "p")
                .addLayer("r", relu(null), "c")
                .addLayer("d", Plans.conv(null), "r")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "d", "p")
                .addLayer("e", Plans.conv(null), "add")
                .addLayer("s", relu(null), "e")
                .addLayer("out", Plans.output(null), "s")
                .setOutputs("out"));
        InferencePlan plan = groups(graph, Engine.ABLE, true);
        assertEquals(Map.of("p", 0), plan.places());
        assertEquals(List.of(false, true, false), inPlace(graph));
        // The pooling's is the sum's until that is read.
        assertEquals(List.of(1, 2, 1), places(graph));
    }
}
