package org.dl4jamp.install;

import java.util.Optional;
import org.dl4jamp.inference.InferenceGuard;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.step.TrainingStep;

/** Finds the guard that the wrappers in a network share. */
public final class Owners {
    private Owners() {}

    /** Returns the training step of a network with mixed precision; empty if it has none. */
    public static Optional<TrainingStep> ofTraining(AmpNetwork network) {
        return network.isInitialized()
                ? TrainingStep.of(network.updater()).or(() -> find(network, TrainingStep.class))
                : Optional.empty();
    }

    /** Returns the guard of a network in inference mode; empty if it is in none. */
    public static Optional<InferenceGuard> ofInference(AmpNetwork network) {
        return network.isInitialized() ? find(network, InferenceGuard.class) : Optional.empty();
    }

    private static <T extends StepGuard> Optional<T> find(AmpNetwork network, Class<T> kind) {
        return network.layers().stream()
                .map(place -> StandIn.behind(place.current().get()))
                .filter(TwinLayer.class::isInstance)
                .map(layer -> ((TwinLayer) layer).guard())
                .filter(kind::isInstance)
                .map(kind::cast)
                .findFirst();
    }
}
