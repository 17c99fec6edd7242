package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** Takes and compares gradients. */
public final class Gradients {
    private Gradients() {}

    public static AmpConfig config(Precision precision) {
        return AmpConfig.builder().precision(precision).engine("nd4j").build();
    }

    /** The gradients of a step, by parameter. The step is taken back. */
    public static Map<String, INDArray> of(MultiLayerNetwork network, DataSet data) {
        List<TrainingListener> listeners = List.copyOf(network.getListeners());
        int iteration = network.getIterationCount();
        Taking taking = new Taking();
        network.addListeners(taking);
        takenBack(network, (BaseMultiLayerUpdater<?>) network.getUpdater(), () -> network.fit(data));
        network.setListeners(listeners);
        network.setIterationCount(iteration);
        return taking.gradients;
    }

    /** The gradients of a graph's step, by parameter. The step is taken back. */
    public static Map<String, INDArray> of(ComputationGraph graph, MultiDataSet data) {
        List<TrainingListener> listeners = List.copyOf(graph.getListeners());
        int iteration = graph.getIterationCount();
        Taking taking = new Taking();
        graph.addListeners(taking);
        takenBack(graph, graph.getUpdater(), () -> graph.fit(data));
        graph.setListeners(listeners);
        graph.getConfiguration().setIterationCount(iteration);
        return taking.gradients;
    }

    /** The gradients that belong to no step. */
    static Map<String, INDArray> unscaled(MultiLayerNetwork network, DataSet data) {
        network.setInput(data.getFeatures());
        network.setLabels(data.getLabels());
        network.setLayerMaskArrays(data.getFeaturesMaskArray(), data.getLabelsMaskArray());
        network.computeGradientAndScore();
        Map<String, INDArray> gradients = copy(network);
        network.clearLayerMaskArrays();
        return gradients;
    }

    /** The gradients of a graph that belong to no step. */
    static Map<String, INDArray> unscaled(ComputationGraph graph, MultiDataSet data) {
        graph.setInputs(data.getFeatures());
        graph.setLabels(data.getLabels());
        graph.setLayerMaskArrays(data.getFeaturesMaskArrays(), data.getLabelsMaskArrays());
        graph.computeGradientAndScore();
        Map<String, INDArray> gradients = copy(graph);
        graph.clearLayerMaskArrays();
        return gradients;
    }

    private static final class Taking extends BaseTrainingListener {
        private Map<String, INDArray> gradients;

        @Override
        public void onGradientCalculation(Model model) {
            gradients = copy(model);
        }
    }

    private static void takenBack(Model model, BaseMultiLayerUpdater<?> updater, Runnable step) {
        INDArray parameters = model.params().dup();
        INDArray state = updater.getStateViewArray();
        INDArray before = state == null ? null : state.dup();
        step.run();
        model.params().assign(parameters);
        if (before != null) {
            state.assign(before);
        }
    }

    /** The gradients of a model's parameters; DL4J's locked batch normalization has others that belong to none. */
    public static Map<String, INDArray> copy(Model model) {
        Map<String, INDArray> copy = new LinkedHashMap<>();
        model.gradient().gradientForVariable().forEach((name, value) -> {
            if (model.paramTable().containsKey(name)) {
                copy.put(name, value.dup());
            }
        });
        return copy;
    }

    /** Computed in double precision. */
    public static double cosine(INDArray a, INDArray b) {
        INDArray x = a.castTo(DataType.DOUBLE).dup('c').reshape(a.length());
        INDArray y = b.castTo(DataType.DOUBLE).dup('c').reshape(b.length());
        double product = x.mul(y).sumNumber().doubleValue();
        return product / (x.norm2Number().doubleValue() * y.norm2Number().doubleValue());
    }

    public static void assertAligned(Map<String, INDArray> expected, Map<String, INDArray> actual, double atLeast) {
        assertEquals(expected.keySet(), actual.keySet());
        expected.forEach((name, gradient) -> {
            double cosine = cosine(gradient, actual.get(name));
            assertTrue(cosine > atLeast, () -> "cosine similarity of " + name + " is " + cosine);
            double ratio = actual.get(name).norm2Number().doubleValue()
                    / gradient.norm2Number().doubleValue();
            assertEquals(1, ratio, 0.02, () -> "length of " + name);
        });
    }
}
