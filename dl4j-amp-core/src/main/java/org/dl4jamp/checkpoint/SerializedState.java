package org.dl4jamp.checkpoint;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The serialized form of an {@link AmpState}.
 *
 * @param json the state, but for gradients that wait
 * @param sums gradients that wait; null if there are none
 */
record SerializedState(String json, INDArray sums) implements Serializable {
    static SerializedState of(AmpState state) {
        return new SerializedState(
                new String(state.toJson(), StandardCharsets.US_ASCII),
                state.waiting().flatMap(WaitingGradients::sums).orElse(null));
    }

    private Object readResolve() {
        AmpState state = AmpState.fromJson(json.getBytes(StandardCharsets.US_ASCII), "the serialized AmpState");
        return Optional.ofNullable(sums).map(state::with).orElse(state);
    }
}
