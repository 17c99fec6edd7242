package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.Networks;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.GradientGroup;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.scale.LossScaler;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Sgd;

/** Small networks, and training steps in them without the layers that scale: all they compute is stock DL4J's. */
public final class SmallSteps {
    public static final int FEATURES = 3;
    public static final int CLASSES = 2;
    public static final Clipping UNCLIPPED = new Clipping(OptionalDouble.empty(), OptionalDouble.empty());

    private SmallSteps() {}

    /** 3 features, one hidden layer, 2 classes. */
    public static MultiLayerNetwork network(IUpdater updater) {
        return network(updater, builder -> builder, Networks.dense(4, Activation.TANH));
    }

    /** With batch normalization, whose running statistics travel among the gradients. */
    public static MultiLayerNetwork normalized(IUpdater updater) {
        return network(updater, builder -> builder, Networks.dense(2, Activation.TANH), new BatchNormalization());
    }

    /** 3 features, and the output layer behind some others. */
    public static MultiLayerNetwork network(
            IUpdater updater, UnaryOperator<NeuralNetConfiguration.Builder> settings, Layer... hidden) {
        NeuralNetConfiguration.ListBuilder list =
                settings.apply(Networks.builder(updater)).list();
        for (Layer layer : hidden) {
            list.layer(layer);
        }
        return Networks.init(list.layer(Networks.softmax(CLASSES))
                .setInputType(InputType.feedForward(FEATURES))
                .build());
    }

    /** Sequences of 3 features and 2 classes, with a vertex that has parameters of its own. */
    public static ComputationGraph attention() {
        return Networks.init(Networks.builder(new Sgd(1))
                .graphBuilder()
                .addInputs("x")
                .setInputTypes(InputType.recurrent(3))
                .addLayer("a", new LSTM.Builder().nOut(2).build(), "x")
                .addVertex("attention", Networks.attention(2, 2, 1), "a", "a", "a")
                .addLayer("out", Networks.rnnSoftmax(2), "attention")
                .setOutputs("out")
                .build());
    }

    /** Puts in the place of a graph's only vertex with parameters what takes a loss scale out of their gradients. */
    public static UnscalingVertex unscale(ComputationGraph graph) {
        Place<GraphVertex> place = AmpNetwork.of(graph).vertices().get(0);
        UnscalingVertex vertex = new UnscalingVertex(
                place.current().get(), place.current().get(), new GradientScale(() -> 1, () -> false, false, false));
        place.replace().accept(vertex);
        return vertex;
    }

    public static DataSet data(int examples) {
        return Networks.vectors(examples, FEATURES, CLASSES);
    }

    public static void fit(Model network, DataSet data) {
        if (network instanceof MultiLayerNetwork layers) {
            layers.fit(data);
        } else {
            ((ComputationGraph) network).fit(data);
        }
    }

    /** The updater that a network has now, made if need be. */
    public static BaseMultiLayerUpdater<?> updater(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? (BaseMultiLayerUpdater<?>) layers.getUpdater()
                : ((ComputationGraph) network).getUpdater();
    }

    /** Returns the operations on gradients in a group of micro-batches. */
    public static GradientTerms group(int microBatches, boolean appliesPartialGroups) {
        return new GradientTerms(Optional.empty(), 0, microBatches, appliesPartialGroups, SmallSteps.UNCLIPPED, false);
    }

    public static GradientTerms clipped(Clipping clipping) {
        return new GradientTerms(Optional.empty(), 0, 1, false, clipping, false);
    }

    /** A training step whose updater stands in the network. */
    public static TrainingStep install(Model network, LossScaler scaler, GradientTerms terms) {
        TrainingStep step =
                new TrainingStep("owner", AmpNetwork.of(network), new ScaleUpdates(scaler, Optional.empty()), 3, terms);
        step.installUpdater();
        return step;
    }

    /** What the backward passes of a network lead to, one by one and with nothing that follows. */
    static BackwardResults results(MultiLayerNetwork network, ScaleUpdates scale) {
        return new BackwardResults(
                AmpNetwork.of(network),
                Optional.empty(),
                new GradientGroup(1, false, n -> n),
                scale,
                new ScaleSearch(0, () -> 0, AmpNetwork.of(network), scale),
                n -> n,
                (skip, iteration) -> {});
    }

    public static DataSet examples(DataSet data, int from, int to) {
        return new DataSet(
                data.getFeatures().get(NDArrayIndex.interval(from, to)).dup(),
                data.getLabels().get(NDArrayIndex.interval(from, to)).dup());
    }

    /** The same with a NaN among the features. */
    public static DataSet spoiled(DataSet data) {
        DataSet bad = data.copy();
        bad.getFeatures().putScalar(0, Float.NaN);
        return bad;
    }

    /** Makes the gradients of one call infinite: an overflow of a finite loss. */
    public static final class Overflow extends BaseTrainingListener {
        private boolean next = true;

        @Override
        public void onGradientCalculation(Model model) {
            if (next) {
                model.gradient().gradient().putScalar(0, Float.POSITIVE_INFINITY);
            }
            next = false;
        }
    }

    /** Parameters and the updater's state. */
    public static void assertLearnedAlike(Model expected, Model actual) {
        assertArrayEquals(
                expected.params().ravel().toFloatVector(),
                actual.params().ravel().toFloatVector(),
                1e-6f);
        INDArray state = updater(expected).getStateViewArray();
        if (state != null) {
            assertArrayEquals(
                    state.ravel().toFloatVector(),
                    updater(actual).getStateViewArray().ravel().toFloatVector(),
                    1e-6f);
        }
    }

    public static Gradient gradients(MultiLayerNetwork network, DataSet data) {
        return network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
    }

    /** Calls the updater as a program does, and subtracts what it makes. */
    public static void byHand(MultiLayerNetwork network, Gradient gradient, int iteration) {
        updater(network).update(gradient, iteration, 0, 6, LayerWorkspaceMgr.noWorkspaces());
        network.params().subi(gradient.gradient().reshape(network.params().shape()));
    }
}
