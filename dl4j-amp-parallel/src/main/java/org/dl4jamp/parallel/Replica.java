package org.dl4jamp.parallel;

import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.scale.LossScalerState;

/**
 * The mixed precision of one replica. Its network is another one in each fit, but for replica 0, which is the source network itself; scaler state and
 * counters go on from fit to fit. May be asked by any thread.
 */
final class Replica {
    private final int index;
    private ReplicaState last;
    private MixedPrecision amp;
    private boolean own;

    Replica(int index) {
        this.index = index;
    }

    int index() {
        return index;
    }

    /** Begins to serve a network that may be enabled, otherwise with these settings, or those that its configuration carries. */
    synchronized void begin(Model network, Optional<AmpConfig> config) {
        begin(MixedPrecision.of(network), () -> Enabling.enable(network, config));
    }

    /**
     * Begins to serve a network, with the state that its last network ended with.
     *
     * @param first the state to begin with if this is its first
     */
    synchronized void begin(Model network, AmpState first) {
        AmpState state = last == null ? first : last.state();
        begin(MixedPrecision.of(network), () -> MixedPrecision.enable(network, state));
    }

    private void begin(Optional<MixedPrecision> present, Supplier<MixedPrecision> enable) {
        own = present.isEmpty() || (own && present.get() == amp);
        amp = present.orElseGet(enable);
        state();
    }

    /** The state of now, or that of the end of the last fit; empty before the first. */
    synchronized Optional<ReplicaState> state() {
        if (amp != null) {
            last = ReplicaState.of(index, amp);
        }
        return Optional.ofNullable(last);
    }

    /** The loss scaler's state, without the copy of gradients that may be part of the whole state. */
    synchronized Optional<LossScalerState> scaler() {
        return amp != null
                ? Optional.of(amp.lossScaler().state())
                : Optional.ofNullable(last).map(state -> state.state().scaler());
    }

    /** Goes on with another replica's scale. */
    synchronized void take(LossScalerState scale) {
        if (amp != null) {
            amp.lossScaler().restore(scale);
        }
    }

    /** The end of a fit: of the source network's mixed precision nothing changes. */
    void fitEnds() {
        if (index != 0) {
            end();
        }
    }

    /** Keeps the state, and closes the mixed precision if it's this replica's. */
    synchronized void end() {
        if (amp != null) {
            state();
            MixedPrecision ended = amp;
            amp = null;
            if (own) {
                ended.close();
            }
        }
    }
}
