package org.dl4jamp.onednn.samediff;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.samediff.SDLayerParams;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.nn.weights.WeightInitUtil;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Users' layers of SameDiff operations in whole networks, against stock DL4J, and their products one by one. */
class SameDiffTwinTest {
    /** With one example ND4J's gradient of the bias of {@code linear} throws, as it does in stock DL4J. */
    private static final int ROWS = 2;

    /** Graphs of a layer of 6 units on 9 features. */
    public enum Graph {
        PRODUCT,
        TRANSPOSED,
        LINEAR,
        STACKS;

        SDVariable define(SameDiff graph, SDVariable x, Map<String, SDVariable> parameters) {
            SDVariable weights = parameters.get("W");
            SDVariable bias = parameters.get("b");
            SDVariable sums =
                    switch (this) {
                        case PRODUCT -> x.mmul(weights).add(bias);
                        case TRANSPOSED ->
                            graph.mmul(weights, x, true, true, true).add(bias);
                        case LINEAR -> graph.nn().linear(x, weights, bias.reshape(6));
                        case STACKS -> stacks(graph, x, weights).add(bias);
                    };
            return graph.nn().tanh(sums);
        }

        private static SDVariable stacks(SameDiff graph, SDVariable x, SDVariable weights) {
            SDVariable stack = graph.mmul(x.reshape(-1, 3, 3), x.reshape(-1, 3, 3), false, true, false);
            return stack.reshape(-1, 9).mmul(weights);
        }
    }

    /** A layer of a user's. */
    public static class Own extends SameDiffLayer {
        private static final long serialVersionUID = 1L;

        private Graph graph;

        public Own() {
            // For JSON.
        }

        Own(Graph graph) {
            this.graph = graph;
        }

        public Graph getGraph() {
            return graph;
        }

        public void setGraph(Graph graph) {
            this.graph = graph;
        }

        @Override
        public void defineParameters(SDLayerParams params) {
            params.addWeightParam("W", 9, 6);
            params.addBiasParam("b", 1, 6);
        }

        @Override
        public void initializeParameters(Map<String, INDArray> params) {
            params.values()
                    .forEach(each -> WeightInitUtil.initWeights(9, 6, each.shape(), WeightInit.XAVIER, null, each));
        }

        @Override
        public SDVariable defineLayer(
                SameDiff sameDiff, SDVariable layerInput, Map<String, SDVariable> paramTable, SDVariable mask) {
            return graph.define(sameDiff, layerInput, paramTable);
        }

        @Override
        public InputType getOutputType(int layerIndex, InputType inputType) {
            return InputType.feedForward(6);
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

    private static void assertTrainsAsInDl4j(Layer own, Precision precision, double tolerance, int... minibatches) {
        MultiLayerNetwork stock = network(own);
        MultiLayerNetwork mixed = network(own);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config(precision))) {
            PrecisionPlan.Row row = amp.plan().rows().get(1);
            assertEquals("onednn", row.engine(), row::toString);
            assertEquals(Precision.FLOAT, row.precision(), row::toString);
            for (int minibatch : minibatches) {
                stock.fit(data(minibatch));
                mixed.fit(data(minibatch));
            }
        }
        Agreement.assertWithin("parameters", stock.params(), mixed.params(), tolerance);
        INDArray features = data(5).getFeatures();
        try (InferenceMode mode = MixedPrecision.inference(mixed, config(precision))) {
            Agreement.assertWithin("output", stock.output(features), mixed.output(features), tolerance);
        }
    }

    @ParameterizedTest
    @EnumSource
    void graphsTrainAsInDl4j(Graph graph) {
        assertTrainsAsInDl4j(new Own(graph), Precision.FLOAT, 1e-5, 4, graph == Graph.LINEAR ? ROWS : 1, 7, 4);
    }

    @Test
    void frozenGraphsTrainAsInDl4j() {
        assertTrainsAsInDl4j(new FrozenLayer(new Own(Graph.PRODUCT)), Precision.FLOAT, 1e-5, 4, 1);
        assertTrainsAsInDl4j(new FrozenLayerWithBackprop(new Own(Graph.LINEAR)), Precision.FLOAT, 1e-5, 4, ROWS);
    }

    @Test
    void betweenHalfLayersGraphsComputeInFloat() {
        assertTrainsAsInDl4j(new Own(Graph.PRODUCT), Types.halfPrecision(), 0.03, 4, 1);
    }

    /** A class that makes a layer of its own, not DL4J's. */
    static class OwnInstance extends Own {
        private static final long serialVersionUID = 1L;

        OwnInstance() {
            super(Graph.PRODUCT);
        }

        @Override
        public org.deeplearning4j.nn.api.Layer instantiate(
                NeuralNetConfiguration conf,
                java.util.Collection<org.deeplearning4j.optimize.api.TrainingListener> listeners,
                int layerIndex,
                INDArray layerParamsView,
                boolean initializeParams,
                DataType networkDataType) {
            return super.instantiate(conf, listeners, layerIndex, layerParamsView, initializeParams, networkDataType);
        }
    }

    @Test
    void aClassThatMakesItsOwnLayerIsLeftToDl4j() {
        try (MixedPrecision amp = MixedPrecision.enable(network(new OwnInstance()), config(Precision.FLOAT))) {
            assertEquals("dl4j", amp.plan().rows().get(1).engine());
        }
    }

    /** Products and their gradients, with each transposition, of matrices and of stacks of them. */
    @Test
    void productsOfASessionAreThoseOfNd4j() {
        for (int flags = 0; flags < 8; flags++) {
            for (long[] stack : List.of(new long[] {}, new long[] {3}, new long[] {2, 2})) {
                check((flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, stack);
            }
        }
    }

    private static long[] shape(long[] stack, boolean turned, long rows, long columns) {
        long[] shape = java.util.Arrays.copyOf(stack, stack.length + 2);
        shape[stack.length] = turned ? columns : rows;
        shape[stack.length + 1] = turned ? rows : columns;
        return shape;
    }

    private static void check(boolean left, boolean right, boolean result, long... stack) {
        INDArray x = gaussian(new Random(1), 1, shape(stack, left, 4, 5));
        INDArray y = gaussian(new Random(2), 1, shape(stack, right, 5, 3));
        String what = left + " " + right + " " + result + " " + stack.length;
        Map<String, INDArray> expected = run(x, y, left, right, result, null);
        try (OneDnnContext context = new OneDnnContext()) {
            long before = OneDnnContext.made();
            Map<String, INDArray> actual = run(x, y, left, right, result, context);
            assertTrue(OneDnnContext.made() > before, what);
            expected.forEach((name, array) -> Agreement.assertWithin(what + " " + name, array, actual.get(name), 1e-5));
        }
    }

    private static Map<String, INDArray> run(
            INDArray x, INDArray y, boolean left, boolean right, boolean result, OneDnnContext context) {
        SameDiff graph = SameDiff.create();
        SDVariable first = graph.var("x", x.dup());
        SDVariable second = graph.var("y", y.dup());
        SDVariable product = graph.mmul("product", first, second, left, right, result);
        SDVariable loss = graph.nn().tanh(product).sum();
        loss.markAsLoss();
        graph.createGradFunction();
        if (context != null) {
            long thread = Thread.currentThread().getId();
            graph.getSessions().put(thread, new ProductSession(graph, context));
            SameDiff gradient = graph.getFunction("grad");
            gradient.getSessions().put(thread, new ProductSession(gradient, context));
        }
        Map<String, INDArray> arrays = new java.util.HashMap<>(graph.calculateGradients(Map.of(), "x", "y"));
        arrays.put(
                "product", graph.output(Map.<String, INDArray>of(), "product").get("product"));
        return arrays;
    }
}
