package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.Map;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.Networks;
import org.dl4jamp.OwnMeans;
import org.dl4jamp.step.SmallSteps;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.Sgd;

/** The numbers in the gradient view: sums, means and updates. */
class GradientKindTest {
    /** A user's own layer whose parameters have no updater, whatever the user sets. */
    private static final class OwnUpdates extends DenseLayer {
        private static final long serialVersionUID = 1L;

        OwnUpdates() {
            setNOut(4);
            setActivationFn(Activation.TANH.getActivationFunction());
        }

        @Override
        public IUpdater getUpdaterByParam(String name) {
            return new NoOp();
        }
    }

    /** The kinds of a layer's parameters, by their names, in front of an output layer. */
    private static Map<String, GradientParts.Kind> kinds(IUpdater updater, Layer layer) {
        return kinds(SmallSteps.network(updater, builder -> builder, layer), 0);
    }

    private static Map<String, GradientParts.Kind> kinds(MultiLayerNetwork network, int layer) {
        Map<String, GradientParts.Kind> kinds = new HashMap<>();
        for (UpdaterBlock block : SmallSteps.updater(network).getUpdaterBlocks()) {
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                if (parameter.getLayer() == network.getLayer(layer)) {
                    kinds.put(parameter.getParamName(), GradientParts.Kind.of(parameter));
                }
            }
        }
        return kinds;
    }

    private static Map<String, GradientParts.Kind> ofCenterLoss(IUpdater updater) {
        return kinds(
                Networks.init(Networks.builder(updater)
                        .list()
                        .layer(new CenterLossOutputLayer.Builder()
                                .nOut(2)
                                .activation(Activation.SOFTMAX)
                                .build())
                        .setInputType(InputType.feedForward(3))
                        .build()),
                0);
    }

    @Test
    void ofADenseLayerAllAreSums() {
        assertEquals(
                Map.of("W", GradientParts.Kind.SUM, "b", GradientParts.Kind.SUM),
                kinds(new Sgd(1), Networks.dense(4, Activation.TANH)));
    }

    @Test
    void runningStatisticsAreUpdates() {
        assertEquals(
                Map.of(
                        "gamma", GradientParts.Kind.SUM,
                        "beta", GradientParts.Kind.SUM,
                        "mean", GradientParts.Kind.UPDATE,
                        "log10stdev", GradientParts.Kind.UPDATE),
                kinds(new Sgd(1), new BatchNormalization()));
    }

    @Test
    void whatItsLayerDividesIsAMean() {
        assertEquals(
                Map.of("W", GradientParts.Kind.MEAN, "b", GradientParts.Kind.SUM), kinds(new Sgd(1), new OwnMeans(4)));
    }

    @Test
    void gradientsThatTheUserWantsSubtractedAsTheyAreStayGradients() {
        assertEquals(
                Map.of("W", GradientParts.Kind.SUM, "b", GradientParts.Kind.SUM),
                kinds(new NoOp(), Networks.dense(4, Activation.TANH)));
        DenseLayer biases = Networks.dense(4, Activation.TANH);
        biases.setBiasUpdater(new NoOp());
        assertEquals(Map.of("W", GradientParts.Kind.SUM, "b", GradientParts.Kind.SUM), kinds(new Sgd(1), biases));
    }

    @Test
    void whatALayerMakesWithoutUpdaterWhateverTheUserSetsIsAnUpdateOfTheBatch() {
        assertEquals(
                Map.of("W", GradientParts.Kind.UPDATE_OF_BATCH, "b", GradientParts.Kind.UPDATE_OF_BATCH),
                kinds(new Sgd(1), new OwnUpdates()));
        assertEquals(
                Map.of("W", GradientParts.Kind.SUM, "b", GradientParts.Kind.SUM), kinds(new NoOp(), new OwnUpdates()));
        OwnUpdates weights = new OwnUpdates();
        weights.setBiasUpdater(new Sgd(1));
        assertEquals(
                Map.of("W", GradientParts.Kind.SUM, "b", GradientParts.Kind.UPDATE_OF_BATCH),
                kinds(new NoOp(), weights),
                "biases have an updater of their own");
        OwnUpdates biases = new OwnUpdates();
        biases.setBiasUpdater(new NoOp());
        assertEquals(
                Map.of("W", GradientParts.Kind.UPDATE_OF_BATCH, "b", GradientParts.Kind.SUM),
                kinds(new Sgd(1), biases),
                "biases have an updater of their own");
    }

    @Test
    void centersAreUpdatesOfTheBatchWithAnyUpdater() {
        for (IUpdater updater : new IUpdater[] {new Sgd(1), new NoOp()}) {
            assertEquals(
                    Map.of(
                            "W",
                            GradientParts.Kind.SUM,
                            "b",
                            GradientParts.Kind.SUM,
                            "cL",
                            GradientParts.Kind.UPDATE_OF_BATCH),
                    ofCenterLoss(updater),
                    updater::toString);
        }
    }
}
