package org.dl4jamp.parallel;

import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.scale.LossScalerState;

/**
 * The mixed precision of one replica. Its network is another one in each fit, but for replica 0, which is the source
 * network itself; scaler state and counters go on from fit to fit. Any thread may call it, also a listener of the
 * network while another thread waits to close it. So the network isn't called with this monitor held.
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

    /**
     * Begins to serve a network that may be enabled, otherwise with these settings, or those that its configuration
     * carries.
     */
    void begin(Model network, Optional<AmpConfig> config) {
        begin(MixedPrecision.of(network), () -> Enabling.enable(network, config));
    }

    /**
     * Begins to serve a network, with the state that its last network ended with.
     *
     * @param first the state to begin with if this is its first
     */
    void begin(Model network, AmpState first) {
        AmpState state = lastKnown().map(ReplicaState::state).orElse(first);
        begin(MixedPrecision.of(network), () -> MixedPrecision.enable(network, state));
    }

    private synchronized Optional<ReplicaState> lastKnown() {
        return Optional.ofNullable(last);
    }

    private void begin(Optional<MixedPrecision> present, Supplier<MixedPrecision> enable) {
        MixedPrecision now = present.orElseGet(enable);
        ReplicaState state = ReplicaState.of(index, now);
        synchronized (this) {
            own = present.isEmpty() || (own && now == amp);
            amp = now;
            last = state;
        }
    }

    private synchronized Optional<MixedPrecision> serving() {
        return Optional.ofNullable(amp);
    }

    /** Returns the state of now, or that of the end of the last fit; empty before the first. */
    Optional<ReplicaState> state() {
        Optional<MixedPrecision> serving = serving();
        if (serving.isEmpty()) {
            return lastKnown();
        }
        ReplicaState state = ReplicaState.of(index, serving.get());
        keep(state, serving.get());
        return Optional.of(state);
    }

    /** Keeps a state, unless the replica serves another network by now, or none. */
    private synchronized boolean keep(ReplicaState state, MixedPrecision of) {
        boolean serves = amp == of;
        if (serves) {
            last = state;
        }
        return serves;
    }

    /** Returns the loss scaler's state, without the copy of gradients that may be part of the whole state. */
    Optional<LossScalerState> scaler() {
        return serving().map(serving -> serving.lossScaler().state()).or(() -> lastKnown()
                .map(state -> state.state().scaler()));
    }

    /** Goes on with another replica's scale. */
    void take(LossScalerState scale) {
        serving().ifPresent(serving -> serving.lossScaler().restore(scale));
    }

    /** Ends a fit: the source network's mixed precision stays as it is. */
    void fitEnds() {
        if (index != 0) {
            end();
        }
    }

    /**
     * Closes the mixed precision if it's this replica's, and keeps the state.
     *
     * @throws org.dl4jamp.precision.AmpException within a pass of the network; nothing has changed then
     */
    void end() {
        MixedPrecision ending;
        boolean close;
        synchronized (this) {
            ending = amp;
            close = own;
        }
        if (ending == null) {
            return;
        }
        if (close) {
            ending.close();
        }
        ReplicaState state = ReplicaState.of(index, ending);
        synchronized (this) {
            if (keep(state, ending)) {
                amp = null;
            }
        }
    }
}
