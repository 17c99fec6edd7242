package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.NoSuchElementException;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;

class NetworkGraphTest {
    @Test
    void aMultiLayerNetworkIsAChainFromOneInputToItsLastLayer() {
        NetworkGraph graph = Plans.chain(Plans.dense("first"), Plans.dense("second"), Plans.output("out"));

        assertEquals(List.of("input", "first", "second", "out"), names(graph));
        assertEquals(List.of("first"), graph.node("second").inputs());
        assertEquals(1, graph.node("second").index());
        assertTrue(graph.node("input").networkInput());
        assertEquals(-1, graph.node("input").index());
        assertTrue(graph.node("out").networkOutput());
        assertFalse(graph.node("second").networkOutput());
        assertNull(graph.node("second").vertex());
    }

    @Test
    void layersWithoutANameOfTheirOwnAreNamedByTheirIndex() {
        MultiLayerConfiguration configuration = Plans.configuration(
                Plans.dense(null), Plans.dense("twice"), Plans.dense("twice"), Plans.dense(""), Plans.output(null));
        configuration.getConf(4).getLayer().setLayerName(null);

        assertEquals(List.of("input", "layer0", "1", "2", "3", "4"), names(NetworkGraph.of(configuration)));
    }

    @Test
    void aNodesLayersAreItsLayerAndThoseThatItWraps() {
        Layer dense = Plans.dense("inner");
        Layer frozen = new FrozenLayerWithBackprop(new FrozenLayer(dense));
        NetworkGraph graph = Plans.chain(frozen, Plans.output("out"));
        List<Layer> layers = graph.nodes().get(1).layers();
        assertEquals(
                List.of(FrozenLayerWithBackprop.class, FrozenLayer.class, DenseLayer.class),
                layers.stream().map(Layer::getClass).toList());
        assertEquals(List.of(), graph.node("input").layers());
    }

    @Test
    void namesNeverClashWithThoseThatUsersGave() {
        NetworkGraph graph = Plans.chain(Plans.dense(""), Plans.dense("0"), Plans.dense("input"));

        assertEquals(List.of("#input", "#0", "0", "input"), names(graph));
    }

    @Test
    void namesAreTheSameOnceTheNetworkIsInitialized() {
        MultiLayerConfiguration configuration =
                Plans.configuration(Plans.dense(null), Plans.dense("b"), Plans.output(null));
        List<String> before = names(NetworkGraph.of(configuration));
        MultiLayerNetwork network = Networks.init(configuration);

        assertEquals(before, names(NetworkGraph.of(network.getLayerWiseConfigurations())));
    }

    @Test
    void preprocessorsBelongToTheLayerThatTheyFeed() {
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder()
                .list()
                .layer(Plans.conv("conv"))
                .layer(new DenseLayer.Builder().name("dense").nOut(4).build())
                .setInputType(InputType.convolutional(8, 8, 4))
                .build();
        NetworkGraph graph = NetworkGraph.of(configuration);

        assertNull(graph.node("conv").preProcessor());
        assertInstanceOf(CnnToFeedForwardPreProcessor.class, graph.node("dense").preProcessor());
    }

    @Test
    void aGraphIsInAnOrderInWhichEveryNodeFollowsItsInputs() {
        NetworkGraph graph = Plans.built(Plans.graph("x", "y")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "left", "right")
                .addLayer("out", Plans.output(null), "sum")
                .addLayer("right", Plans.dense(null), "y")
                .addLayer("left", Plans.dense(null), "x")
                .setOutputs("out"));

        assertEquals(List.of("x", "y", "left", "right", "sum", "out"), names(graph));
        assertEquals(List.of("left", "right"), graph.node("sum").inputs());
        assertNull(graph.node("sum").layer());
        assertNotNull(graph.node("sum").vertex());
        assertNotNull(graph.node("left").layer());
        assertEquals(4, graph.node("sum").index());
        assertTrue(graph.node("y").networkInput());
        assertTrue(graph.node("out").networkOutput());
        assertEquals(
                List.of("left", "right", "out"),
                graph.layers().stream().map(NetworkGraph.Node::name).toList());
    }

    @Test
    void aCycleIsSaidToBeOne() {
        ComputationGraphConfiguration configuration = Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addLayer("b", Plans.dense(null), "a")
                .setOutputs("b")
                .build();
        configuration.getVertexInputs().put("a", List.of("b"));

        AmpException e = assertThrows(AmpException.class, () -> NetworkGraph.of(configuration));
        assertTrue(e.getMessage().contains("cycle through some of [a, b]"), e.getMessage());
    }

    @Test
    void anUnknownNodeIsNamed() {
        NetworkGraph graph = Plans.chain(Plans.dense("a"));

        assertTrue(assertThrows(NoSuchElementException.class, () -> graph.node("b"))
                .getMessage()
                .contains("\"b\""));
    }

    @Test
    void nodesAreNamedByTheirClassAndTellWhetherThereIsAnythingToTrain() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("dense", Plans.dense(null), "x")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "dense")
                .addVertex("scale", new ScaleVertex(2), "relu")
                .addVertex(
                        "attention",
                        new AttentionVertex.Builder()
                                .nInKeys(4)
                                .nInQueries(4)
                                .nInValues(4)
                                .nHeads(1)
                                .headSize(4)
                                .projectInput(true)
                                .nOut(4)
                                .build(),
                        "scale",
                        "scale",
                        "scale")
                .addLayer("own", new ActivationLayer(Activation.RELU) {}, "attention")
                .addLayer("out", Plans.output(null), "own")
                .setOutputs("out"));

        assertEquals(
                List.of("input", "DenseLayer", "ActivationLayer", "ScaleVertex", "AttentionVertex", "OutputLayer"),
                graph.nodes().stream()
                        .filter(node -> !node.name().equals("own"))
                        .map(NetworkGraph.Node::className)
                        .toList());
        assertTrue(graph.node("own").className().startsWith(NetworkGraphTest.class.getName() + "$"));
        assertEquals(
                List.of("dense", "attention", "out"),
                graph.nodes().stream()
                        .filter(NetworkGraph.Node::hasParameters)
                        .map(NetworkGraph.Node::name)
                        .toList());
    }

    private static List<String> names(NetworkGraph graph) {
        return graph.nodes().stream().map(NetworkGraph.Node::name).toList();
    }
}
