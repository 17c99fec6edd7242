package org.dl4jamp;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Assumptions;
import org.nd4j.linalg.dataset.DataSet;

/**
 * A layer in a small network, for the tests of all layers.
 *
 * @param name what is shown
 * @param configuration the network
 * @param data what it is trained with
 * @param layer the class that is forced into half precision
 * @param tolerance how close it comes to FP32
 * @param failsInSomeDl4j whether one of the releases of DL4J fails to run it in FP32
 */
record LayerCase(
        String name,
        MultiLayerConfiguration configuration,
        DataSet data,
        Class<? extends Layer> layer,
        Comparison.Tolerance tolerance,
        boolean failsInSomeDl4j) {

    LayerCase(
            String name,
            MultiLayerConfiguration configuration,
            DataSet data,
            Class<? extends Layer> layer,
            Comparison.Tolerance tolerance) {
        this(name, configuration, data, layer, tolerance, false);
    }

    /** Choices among near equals, as of a maximum, may turn out differently in half precision. */
    LayerCase coarse() {
        return new LayerCase(name, configuration, data, layer, Comparison.Tolerance.COARSE, failsInSomeDl4j);
    }

    /** Skips the case where plain DL4J fails. */
    LayerCase unlessDl4jFails() {
        return new LayerCase(name, configuration, data, layer, tolerance, true);
    }

    private void assumeDl4jRuns(Runnable plain) {
        if (!failsInSomeDl4j) {
            return;
        }
        try {
            plain.run();
        } catch (RuntimeException e) {
            Assumptions.abort("plain DL4J fails: " + e.getMessage());
        }
    }

    private void assumeDl4jRuns() {
        assumeDl4jRuns(() -> Networks.init(configuration).output(data.getFeatures()));
    }

    void runsByDefault(Precision precision) {
        assumeDl4jRuns();
        Comparison.check(configuration, data, Gradients.config(precision), tolerance(precision));
    }

    void runsWhenForced() {
        assumeDl4jRuns();
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .lower(layer)
                .build();
        Comparison.check(configuration, data, config, tolerance);
    }

    void runsInAGraph() {
        assumeDl4jRuns();
        MultiLayerNetwork network = Networks.init(configuration);
        ComputationGraph graph = network.toComputationGraph();
        assumeDl4jRuns(() -> Networks.init(ComputationGraphConfiguration.fromJson(
                        graph.getConfiguration().toJson()))
                .output(data.getFeatures()));
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
