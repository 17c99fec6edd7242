package org.dl4jamp.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;

/** Code that isn't DL4J's and runs within a training step. */
final class Bystanders {
    private static final ClassValue<Boolean> COME_BETWEEN = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> listener) {
            return !isInherited(listener, "onBackwardPass") || !isInherited(listener, "onGradientCalculation");
        }
    };

    private Bystanders() {}

    private static boolean isInherited(Class<?> listener, String method) {
        try {
            return listener.getMethod(method, Model.class).getDeclaringClass() == BaseTrainingListener.class;
        } catch (NoSuchMethodException e) {
            throw new IllegalArgumentException(listener + " is no listener", e);
        }
    }

    /** Whether a listener runs between backward pass and updater; DL4J's own empty methods don't count. */
    static boolean comeBetween(TrainingListener listener) {
        return COME_BETWEEN.get(listener.getClass());
    }

    /** Whether a network is of a class of its own, which may do anything between backward pass and updater. */
    static boolean areIn(Model network) {
        return network.getClass() != MultiLayerNetwork.class && network.getClass() != ComputationGraph.class;
    }
}
