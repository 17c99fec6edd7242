package org.dl4jamp.inspect.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.zoo.model.ResNet50;
import org.deeplearning4j.zoo.model.TextGenerationLSTM;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.plan.NetworkPlan.Cast;
import org.dl4jamp.inspect.plan.NetworkPlan.Edge;
import org.dl4jamp.inspect.plan.NetworkPlan.Layer;
import org.dl4jamp.install.ResolvedConfig;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Operations, bytes, casts and savings of small networks are those that are computed by hand. */
class PlanMakerTest {
    private static final AmpConfig HALF =
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();
    private static final AmpConfig DL4J = AmpConfig.builder().engine("dl4j").build();
    private static final Cast TO_HALF = new Cast(Precision.FLOAT, Precision.HALF);
    private static final Cast TO_FLOAT = new Cast(Precision.HALF, Precision.FLOAT);

    @Test
    void anMlp() {
        NetworkPlan plan = plan(mlp(), maker -> maker.batch(3), HALF);
        assertEquals(List.of(3 * 100 * (2 * 784 + 1L), 3 * 10 * (2 * 100 + 1L)), flops(plan));
        assertEquals(784 * 100 + 100 + 100 * 10 + 10, plan.totals().parameters());
        // The output layer returns FP32, from half inputs.
        assertEquals(3 * (100 + 10) * 4, plan.totals().floatBytes());
        assertEquals(3 * (100 * 2 + 10 * 4), plan.totals().planBytes());
        assertEquals(List.of(TO_HALF, TO_FLOAT), casts(plan));
        assertEquals(
                (2 * 784 + 1) * 100.0 / ((2 * 784 + 1) * 100.0 + (2 * 100 + 1) * 10),
                plan.totals().halfShare(),
                1e-12);
        assertEquals(1 - 240.0 / 440, plan.totals().savedShare(), 1e-12);
        assertNull(plan.timesteps());
    }

    @Test
    void inFp32NothingIsSaved() {
        NetworkPlan plan = plan(mlp(), maker -> maker, DL4J);
        assertEquals(0, plan.totals().savedShare());
        assertEquals(0, plan.totals().halfShare());
        assertEquals(List.of(), casts(plan));
        assertEquals(Precision.FLOAT, plan.precision());
    }

    @Test
    void aCnnWhoseNormalizationKeepsHalfActivations() {
        MultiLayerNetwork cnn = network(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(4).build())
                .layer(new BatchNormalization())
                .layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build())
                .layer(new DenseLayer.Builder().nOut(6).build())
                .layer(new OutputLayer.Builder()
                        .nOut(2)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutional(8, 8, 3)));
        NetworkPlan plan = plan(cnn, maker -> maker.inputs(List.of("3,8,8")), HALF);
        assertEquals(
                List.of(6 * 6 * 4 * (2 * 27 + 1L), 6 * 6 * 4 * 2L, 3 * 3 * 4 * 4L, 6 * (2 * 36 + 1L), 2 * (2 * 6 + 1L)),
                flops(plan));
        assertEquals("4x3x3", plan.layers().get(2).shape());
        assertEquals((144 + 144 + 36 + 6 + 2) * 4, plan.totals().floatBytes());
        assertEquals((144 + 144 + 36 + 6) * 2 + 2 * 4, plan.totals().planBytes());
        assertEquals(List.of(TO_HALF, TO_FLOAT), casts(plan));
    }

    @Test
    void anLstm() {
        MultiLayerNetwork lstm = network(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new LSTM.Builder().nIn(3).nOut(5).build())
                .layer(new RnnOutputLayer.Builder()
                        .nIn(5)
                        .nOut(2)
                        .activation(Activation.SOFTMAX)
                        .build()));
        NetworkPlan plan = plan(lstm, maker -> maker.timesteps(7).batch(2), HALF);
        assertEquals(List.of(2 * 7 * (4 * 5 * (2 * 8 + 1) + 4 * 5L), 2 * 7 * 2 * (2 * 5 + 1L)), flops(plan));
        assertEquals(2 * 7 * (5 + 2) * 4, plan.totals().floatBytes());
        assertEquals(2 * 7 * (5 * 2 + 2 * 4), plan.totals().planBytes());
        assertEquals(7, plan.timesteps());
        assertEquals("3x7", plan.inputs().get(0).shape());
    }

    @Test
    void aGraphWithAMergeVertex() {
        ComputationGraph graph = new ComputationGraph(merge());
        graph.init();
        NetworkPlan plan = plan(graph, maker -> maker.inputs(List.of("3", "2")), HALF);
        assertEquals(
                List.of("a", "b", "both", "out"),
                plan.layers().stream().map(Layer::name).toList());
        assertEquals(List.of(4 * (2 * 3 + 1L), 6 * (2 * 2 + 1L), 0L, 2 * (2 * 10 + 1L)), flops(plan));
        assertEquals((4 + 6 + 10 + 2) * 4, plan.totals().floatBytes());
        assertEquals((4 + 6 + 10) * 2 + 2 * 4, plan.totals().planBytes());
        assertEquals(
                List.of("x>a", "y>b", "both>out"),
                plan.edges().stream()
                        .filter(edge -> edge.cast() != null)
                        .map(edge -> edge.from() + ">" + edge.to())
                        .toList());
    }

    @Test
    void theCentersOfACenterLossAreParameters() {
        MultiLayerNetwork network = network(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new CenterLossOutputLayer.Builder()
                        .nIn(5)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build()));
        NetworkPlan plan = plan(network, maker -> maker, DL4J);
        assertEquals(5 * 3 + 3 + 5 * 3, plan.totals().parameters());
        assertEquals(network.numParams(), plan.totals().parameters());
    }

    @Test
    void theNetworkIsAsBefore() {
        MultiLayerNetwork network = mlp();
        INDArray parameters = network.params().dup();
        plan(network, maker -> maker, HALF);
        assertEquals(parameters, network.params());
        assertEquals(0, network.getIterationCount());
        assertTrue(MixedPrecision.of(network).isEmpty());
    }

    @Test
    void wrongNumbersAreRefused() {
        assertThrows(AmpException.class, () -> new PlanMaker().batch(0));
        assertThrows(AmpException.class, () -> new PlanMaker().timesteps(-1));
    }

    @Test
    void resNet50OfTheZoo() {
        NetworkPlan plan = plan(resNet50());
        assertEquals(175, plan.layers().size());
        assertEquals(25.6e6, (double) plan.totals().parameters(), 0.1e6);
        assertEquals(0, plan.totals().layersOfUnknownFlops());
        assertEquals(List.of(TO_HALF, TO_FLOAT), casts(plan));
        assertEquals(0.995, plan.totals().halfShare(), 0.001);
    }

    /** The zoo's has a stride of 2 in its second stage, too. Torchvision's documentation gives its own 4.09 GMAC. */
    @Test
    void resNet50WithTheStridesOfTorchvisionHasItsOperations() {
        ComputationGraphConfiguration configuration = resNet50();
        for (String stage : List.of("2", "3", "4", "5")) {
            int[] stride = stage.equals("2") ? new int[] {1, 1} : new int[] {2, 2};
            layer(configuration, ConvolutionLayer.class, "res" + stage + "a_branch1")
                    .setStride(stride);
            layer(configuration, ConvolutionLayer.class, "res" + stage + "a_branch2a")
                    .setStride(new int[] {1, 1});
            layer(configuration, ConvolutionLayer.class, "res" + stage + "a_branch2b")
                    .setStride(stride);
        }
        layer(configuration, SubsamplingLayer.class, "avgpool").setKernelSize(new int[] {7, 7});
        NetworkPlan plan = plan(configuration);
        assertEquals(2 * 4.09e9, (double) plan.totals().flops(), 0.05e9);
    }

    @Test
    void theTextGenerationLstmOfTheZoo() {
        MultiLayerNetwork network = new MultiLayerNetwork(TextGenerationLSTM.builder()
                .totalUniqueCharacters(77)
                .inputShape(new int[] {50, 77})
                .build()
                .conf());
        network.init();
        NetworkPlan plan = plan(network, maker -> maker.timesteps(40), HALF);
        assertEquals(network.numParams(), plan.totals().parameters());
        // Two LSTMs of 256 units with peepholes, and an output layer of 77.
        long first = 4 * 256 * (2 * (77 + 256) + 1) + 4 * 256 + 6 * 256;
        long second = 4 * 256 * (2 * (256 + 256) + 1) + 4 * 256 + 6 * 256;
        assertEquals(40 * (first + second + 77 * (2 * 256 + 1)), plan.totals().flops());
    }

    private static ComputationGraphConfiguration resNet50() {
        return ResNet50.builder().numClasses(1000).build().graphBuilder().build();
    }

    private static <L> L layer(ComputationGraphConfiguration configuration, Class<L> type, String name) {
        LayerVertex vertex = (LayerVertex) configuration.getVertices().get(name);
        return type.cast(vertex.getLayerConf().getLayer());
    }

    /** Returns the plan of images of 224x224, without making the network. */
    private static NetworkPlan plan(ComputationGraphConfiguration configuration) {
        NetworkGraph graph = NetworkGraph.of(configuration);
        return new PlanMaker()
                .inputs(List.of("3,224,224"))
                .plan("ComputationGraph", graph, ResolvedConfig.of(HALF, graph).plan(), "nd4j");
    }

    private static NetworkPlan plan(Model network, UnaryOperator<PlanMaker> options, AmpConfig config) {
        return options.apply(new PlanMaker()).plan(network, config);
    }

    private static List<Long> flops(NetworkPlan plan) {
        return plan.layers().stream().map(Layer::flops).toList();
    }

    private static List<Cast> casts(NetworkPlan plan) {
        return plan.edges().stream()
                .map(Edge::cast)
                .filter(cast -> cast != null)
                .toList();
    }

    private static MultiLayerNetwork mlp() {
        return network(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new DenseLayer.Builder()
                        .nIn(784)
                        .nOut(100)
                        .activation(Activation.RELU)
                        .build())
                .layer(new OutputLayer.Builder()
                        .nIn(100)
                        .nOut(10)
                        .activation(Activation.SOFTMAX)
                        .build()));
    }

    private static MultiLayerNetwork network(NeuralNetConfiguration.ListBuilder list) {
        MultiLayerNetwork network = new MultiLayerNetwork(list.build());
        network.init();
        return network;
    }

    private static ComputationGraphConfiguration merge() {
        return new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("x", "y")
                .addLayer("a", new DenseLayer.Builder().nIn(3).nOut(4).build(), "x")
                .addLayer("b", new DenseLayer.Builder().nIn(2).nOut(6).build(), "y")
                .addVertex("both", new MergeVertex(), "a", "b")
                .addLayer(
                        "out",
                        new OutputLayer.Builder()
                                .nIn(10)
                                .nOut(2)
                                .activation(Activation.SOFTMAX)
                                .build(),
                        "both")
                .setOutputs("out")
                .build();
    }
}
