package org.dl4jamp.twin;

import java.util.Objects;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An engine's replacement for a network's layer: a DL4J layer that writes its gradients, in FP32, straight into the
 * gradient view of the replaced layer.
 *
 * @param compute the layer that computes
 * @param dataType the type of the input that it takes, and of its gradient
 * @param roundsInput whether its input is rounded to the precision of the plan; not so in layers that stay in FP32, nor
 *     in embeddings, whose input is row numbers
 * @param retention the form in which the input is kept between forward and backward pass
 * @param dropout the input dropout that the wrapper has to apply because {@code compute} is without; null if there is
 *     none
 * @param weights keeps the weights of {@code compute} in step with the master weights
 * @param casting casts arrays into the twin's type and out of it
 * @param outputType the type of the output that it returns, and of the epsilon that it takes
 */
public record Twin(
        Layer compute,
        DataType dataType,
        boolean roundsInput,
        Retention retention,
        IDropout dropout,
        Weights weights,
        Casting casting,
        DataType outputType) {

    /** The form in which a wrapper keeps its input between forward and backward pass. */
    public enum Retention {
        /**
         * The input as it came, or rounded: it's cast again for the backward pass. For layers whose backward pass needs
         * their input only.
         */
        INPUT,
        /**
         * The input in the twin's own type, in case the layer keeps something of its forward pass that belongs to that
         * very array.
         */
        CAST_INPUT
    }

    /** A layer that computes in place of a network's own, and may consist of nothing but an engine's kernels. */
    public interface Repeatable {
        /**
         * Returns whether a forward pass in inference without masks runs kernels, which {@code PassRecorder} notes, and
         * does nothing else to arrays.
         */
        boolean isRepeatable();
    }

    /** A layer that computes in place of a network's own, and can do without the gradient of its input. */
    public interface OptionalInputGradient {
        /**
         * Called before each backward pass of a layer whose input depends on no parameters, with true if that pass is
         * to return null for the gradient of the input.
         */
        void spareInputGradient(boolean unwanted);
    }

    /**
     * An output layer that evaluates the loss along with its gradient, so that a training step needn't multiply by the
     * layer's weights once more for the score.
     */
    public interface ScoringOutput extends IOutputLayer {
        /** Returns false if the score is one of other weights: of noise that DL4J draws for it. */
        default boolean scoresBackwardPass() {
            return true;
        }

        /**
         * Returns the score of the last backward pass, with the network's regularization term: what
         * {@link #computeScore} returns in training for the same input, labels, mask and parameters.
         */
        double scoreOfBackwardPass(double fullNetworkRegScore);
    }

    /** A layer that also takes steps of layerwise pretraining in place of a network's own. */
    public interface Pretraining {
        /** Takes a step, inside the gate while it computes; returns the layer that has its score and gradients. */
        Layer pretrain(Layer master, Gate gate, INDArray rows, LayerWorkspaceMgr workspaceMgr);
    }

    /** Keeps the weights of a twin in step with the master weights. */
    public interface Weights {
        /** The master weights themselves: nothing to keep in step. */
        Weights MASTER = new Weights() {};

        /** Takes the master weights over, before a forward pass. */
        default void refresh() {}

        /**
         * Brings back what the last {@link #refresh} made, before a backward pass: other layers may use the same
         * memory.
         */
        default void reload() {}

        /**
         * Is called after a program has set master weights by one of the layer's methods. They count in the next pass.
         */
        default void masterSet() {}

        /**
         * Called when a step has changed the master weights, which are then rounded if they keep no digits of their
         * own. Nothing else changes them.
         */
        default void stepDone() {}
    }

    public Twin {
        Objects.requireNonNull(compute, "compute");
        Objects.requireNonNull(dataType, "dataType");
        Objects.requireNonNull(retention, "retention");
        Objects.requireNonNull(weights, "weights");
        Objects.requireNonNull(casting, "casting");
        Objects.requireNonNull(outputType, "outputType");
    }

    /** A twin whose arrays are cast with ND4J's operations. */
    public Twin(
            Layer compute,
            DataType dataType,
            boolean roundsInput,
            Retention retention,
            IDropout dropout,
            Weights weights) {
        this(compute, dataType, roundsInput, retention, dropout, weights, Casting.ND4J, dataType);
    }

    /** Returns the same twin with other casts. */
    public Twin with(Casting other) {
        return new Twin(compute, dataType, roundsInput, retention, dropout, weights, other, outputType);
    }

    /** Returns the same twin with other weights. */
    public Twin with(Weights other) {
        return new Twin(compute, dataType, roundsInput, retention, dropout, other, casting, outputType);
    }
}
