package org.dl4jamp.dl4j;

import java.util.Optional;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;

/**
 * An updater of DL4J's that leaves what it's called for to a hook. DL4J's optimizer calls its updater's class, not an
 * interface, so what a network has must be a subclass of one or the other.
 */
public sealed interface HookedUpdater permits AmpMultiLayerUpdater, AmpGraphUpdater {
    /** Called in place of the updater. */
    interface Hook {
        /** Does what is to be done in place of DL4J's update, which {@link HookedUpdater#updateAsDl4j} is. */
        void update(UpdaterCall call);
    }

    /** Returns what is done when this updater is called. */
    Hook hook();

    /** Runs DL4J's own update. */
    void updateAsDl4j(UpdaterCall call);

    /** Returns this updater as DL4J's type. */
    default BaseMultiLayerUpdater<?> plain() {
        return (BaseMultiLayerUpdater<?>) this;
    }

    /** Returns the hook of an updater; empty if it's null or none of these. */
    static Optional<Hook> hookOf(BaseMultiLayerUpdater<?> updater) {
        return updater instanceof HookedUpdater hooked ? Optional.of(hooked.hook()) : Optional.empty();
    }
}
