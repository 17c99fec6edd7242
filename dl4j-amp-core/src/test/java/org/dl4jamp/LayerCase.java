package org.dl4jamp;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.dataset.DataSet;

/**
 * A layer in a small network, for the tests of all layers.
 *
 * @param name what is shown
 * @param configuration the network
 * @param data what it is trained with
 * @param layer the class that is forced into half precision
 * @param tolerance how close it comes to FP32
 */
record LayerCase(
        String name,
        MultiLayerConfiguration configuration,
        DataSet data,
        Class<? extends Layer> layer,
        Comparison.Tolerance tolerance) {

    /** Choices among near equals, as of a maximum, may turn out differently in half precision. */
    LayerCase coarse() {
        return new LayerCase(name, configuration, data, layer, Comparison.Tolerance.COARSE);
    }

    void runsByDefault(Precision precision) {
        Comparison.check(configuration, data, Gradients.config(precision), tolerance(precision));
    }

    void runsWhenForced() {
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .lower(layer)
                .build();
        Comparison.check(configuration, data, config, tolerance);
    }

    void runsInAGraph() {
        MultiLayerNetwork network = Networks.init(configuration);
        ComputationGraph graph = network.toComputationGraph();
        Comparison.check(graph, data.toMultiDataSet(), Gradients.config(Precision.HALF), tolerance);
    }

    private Comparison.Tolerance tolerance(Precision precision) {
        return precision == Precision.BFLOAT16 ? Comparison.Tolerance.COARSE : tolerance;
    }

    @Override
    public String toString() {
        return name;
    }
}
