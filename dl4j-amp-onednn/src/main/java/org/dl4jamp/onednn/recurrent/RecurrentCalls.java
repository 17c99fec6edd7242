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
 * What DL4J calls of a recurrent layer, and what an LSTM and a simple RNN answer alike: their classes have no common
 * one to put it into. Arrays are in the layer's format.
 */
final class RecurrentCalls {
    private final Directional twin;
    private final UnaryOperator<INDArray> featuresFirst;

    /**
     * @param twin who is called
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
     * A forward pass.
     *
     * @param after where the state after it goes; null for nowhere
     */
    INDArray forward(
            RecurrentPasses.Sequences sequences, boolean training, LastState after, LayerWorkspaceMgr workspaceMgr) {
        return featuresFirst.apply(twin.passes().forward(sequences, twin.parameters(), training, after, workspaceMgr));
    }

    /** A state that goes into one of the maps in which DL4J's layers keep it. */
    static LastState into(Map<String, INDArray> state) {
        return last -> last.putInto(state);
    }

    /**
     * A backward pass.
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
