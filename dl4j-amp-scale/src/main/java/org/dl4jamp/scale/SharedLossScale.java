package org.dl4jamp.scale;

import java.util.IdentityHashMap;
import java.util.Optional;
import org.dl4jamp.precision.AmpException;

/**
 * One loss scale for several networks that are trained together, updated once per iteration:
 *
 * <pre>
 * SharedLossScale shared = new SharedLossScale(DynamicLossScaler.builder().build());
 * AmpConfig config = AmpConfig.builder().sharedLossScale(shared).build();
 * MixedPrecision.enable(generator, config);
 * MixedPrecision.enable(discriminator, config);
 * while (training) {
 *     discriminator.fit(...);
 *     generator.fit(...);
 *     shared.update();
 * }
 * </pre>
 *
 * <p>Each network makes or skips its step for itself. {@link #update()} updates the scaler with an overflow if any of
 * them had one, and with none otherwise. PyTorch does so after several {@code scaler.step(optimizer)}. In each
 * iteration a network makes one step at most, and need not make one. Thread-safe.
 */
public final class SharedLossScale {
    private final LossScaler scaler;
    /** The result of each network's step. */
    private final IdentityHashMap<Object, Optional<Skip.Cause>> results = new IdentityHashMap<>();

    /**
     * @param scaler the networks' own from now on: it mustn't be updated elsewhere
     * @throws AmpException if it's null
     */
    public SharedLossScale(LossScaler scaler) {
        this.scaler =
                AmpException.ifNull(scaler, "scaler", "a LossScaler, such as DynamicLossScaler.builder().build()");
    }

    /** Returns the scaler, whose scale all networks have. */
    public LossScaler scaler() {
        return scaler;
    }

    /** Returns the factor of the losses until the next {@link #update()}. */
    public double scale() {
        return scaler.scale();
    }

    /**
     * Ends an iteration: updates the scaler with the results of the networks' steps.
     *
     * @throws AmpException if no network has made or skipped a step since the last call; the scaler is as before then
     */
    public synchronized void update() {
        if (results.isEmpty()) {
            throw new AmpException(
                    "SharedLossScale.update: no network has made a step since the last update, or since the beginning;"
                            + " call it once per iteration, after the steps of all networks, and give each network's"
                            + " settings sharedLossScale(...). With accumulation a step is that of a whole group");
        }
        boolean overflow = results.values().stream().anyMatch(skip -> skip.equals(Optional.of(Skip.Cause.OVERFLOW)));
        if (overflow || results.values().stream().anyMatch(Optional::isEmpty)) {
            scaler.update(overflow);
        }
        results.clear();
    }

    /**
     * Begins a network's step.
     *
     * @param network the calling network's identity
     * @throws AmpException if it has made a step since the last {@link #update()}
     */
    public synchronized void begin(Object network, String name) {
        if (results.containsKey(network)) {
            throw new AmpException("SharedLossScale: " + name
                    + " is about to make a second step since the last update, with a scale that was not updated;"
                    + " call SharedLossScale.update() once per iteration, after the steps of all networks");
        }
    }

    /**
     * Records the result of a network's step.
     *
     * @param network the calling network's identity
     * @param skip the cause if the step was skipped; {@link Skip.Cause#UNSCALED} where nothing was scaled, even if it
     *     wasn't skipped
     */
    public synchronized void end(Object network, Optional<Skip.Cause> skip) {
        results.put(network, skip);
    }

    /** Returns the call that makes it; the state is not part of it. */
    @Override
    public String toString() {
        return "new SharedLossScale(" + scaler + ")";
    }
}
