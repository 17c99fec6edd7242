package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.base.Preconditions;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The methods of a recurrent layer that are the same in an LSTM and a simple RNN, which have no common class in DL4J.
 * Arrays are in the layer's format.
 */
final class RecurrentCalls {
    private final Directional twin;
    private final UnaryOperator<INDArray> featuresFirst;

    /**
     * @param twin the twin that is called
     * @param featuresFirst from the layer's format to {@code [minibatch, size, time]}, and back
     */
    RecurrentCalls(Directional twin, UnaryOperator<INDArray> featuresFirst) {
        this.twin = twin;
        this.featuresFirst = featuresFirst;
    }

    /** Sequences, and the state before them. */
    RecurrentPasses.Sequences sequences(INDArray input, INDArray mask, Map<String, INDArray> state) {
        Preconditions.checkState(input.rank() == 3, "3D input expected to RNN layer expected, got " + input.rank());
        return new RecurrentPasses.Sequences(featuresFirst.apply(input), mask, RecurrentState.in(state));
    }

    /**
     * Runs a forward pass.
     *
     * @param after where the state after it goes; null for nowhere
     */
    INDArray forward(
            RecurrentPasses.Sequences sequences, boolean training, LastState after, LayerWorkspaceMgr workspaceMgr) {
        return featuresFirst.apply(twin.passes().forward(sequences, twin.parameters(), training, after, workspaceMgr));
    }

    /** Returns a destination that puts the state into one of the maps of DL4J's layers. */
    static LastState into(Map<String, INDArray> state) {
        return last -> last.putInto(state);
    }

    /**
     * Runs a backward pass.
     *
     * @param epsilon the gradient of the outputs
     * @param steps how many time steps back from the last; all if negative
     * @param after where the state after the sequences goes; null for nowhere
     */
    Pair<Gradient, INDArray> backward(
            RecurrentPasses.Sequences sequences,
            INDArray epsilon,
            int steps,
            LastState after,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray next = twin.passes()
                .backward(
                        sequences,
                        featuresFirst.apply(epsilon),
                        steps,
                        twin.parameters(),
                        twin.gradients(),
                        after,
                        workspaceMgr,
                        ArrayType.ACTIVATION_GRAD);
        return new Pair<>(twin.gradients().asGradient(), featuresFirst.apply(next));
    }
}
