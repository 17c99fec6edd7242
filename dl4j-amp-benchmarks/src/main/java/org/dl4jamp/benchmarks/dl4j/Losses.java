package org.dl4jamp.benchmarks.dl4j;

import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossBinaryXENT;
import org.nd4j.linalg.lossfunctions.impl.LossMSE;

/** The losses of DL4J's layers. */
final class Losses {
    private Losses() {}

    /**
     * Returns that of a layer whose labels are one class for each example or time step, {@code [minibatch,
     * classes...]}.
     */
    static Loss ofClasses(INDArray labels) {
        return new Loss(Loss.Kind.CROSS_ENTROPY, labels.length() / labels.size(1), labels.size(0));
    }

    /**
     * Returns that of a layer whose labels are numbers of pixels. DL4J takes the mean of squares over channels, and the
     * sum of cross entropies.
     *
     * @throws IllegalArgumentException if a blueprint can't have it; the message names the layer
     */
    static Loss ofPixels(String name, CnnLossLayer layer, INDArray labels) {
        return new Loss(kind(name, layer, labels), labels.length(), labels.size(0));
    }

    private static Loss.Kind kind(String name, CnnLossLayer layer, INDArray labels) {
        ILossFunction function = layer.getLossFn();
        IActivation activation = layer.getActivationFn();
        if (function instanceof LossMSE && activation instanceof ActivationIdentity && labels.size(1) == 1) {
            return Loss.Kind.SQUARED_ERROR;
        }
        if (function instanceof LossBinaryXENT entropy
                && activation instanceof ActivationSigmoid
                && entropy.getWeights() == null) {
            return Loss.Kind.BINARY_CROSS_ENTROPY;
        }
        throw new IllegalArgumentException("a blueprint can't have the loss of layer " + name + ", " + function
                + " after " + activation + " of " + labels.size(1) + " channels");
    }
}
