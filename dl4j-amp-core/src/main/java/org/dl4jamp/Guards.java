package org.dl4jamp;

import java.util.Optional;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;

/** Whom the wrappers that stand in a network belong to. */
final class Guards {
    private Guards() {}

    /** The guard of a kind that the first wrapper with one has; empty if there is none. */
    static <T extends StepGuard> Optional<T> find(AmpNetwork network, Class<T> kind) {
        return network.layers().stream()
                .map(place -> StandIn.behind(place.current().get()))
                .filter(TwinLayer.class::isInstance)
                .map(layer -> ((TwinLayer) layer).guard())
                .filter(kind::isInstance)
                .map(kind::cast)
                .findFirst();
    }
}
