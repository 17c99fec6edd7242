package org.dl4jamp.install;

import java.util.ServiceLoader;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;

/** Changes the settings of networks in training, see {@code AmpConfig.selfHealing}. Another module provides one. */
public interface Healer {
    /**
     * Begins to heal a network.
     *
     * @param enabled the network's mixed precision of now
     * @param change gives it other settings
     */
    void begin(Supplier<EnabledNetwork> enabled, Consumer<AmpConfig> change);

    /**
     * Returns the healer of networks with these settings, which does nothing unless they ask for it.
     *
     * @throws AmpException if they ask for it, and the class path has none
     */
    static Healer of(AmpConfig config) {
        if (!config.selfHealing()) {
            return (enabled, change) -> {};
        }
        return ServiceLoader.load(Healer.class, Healer.class.getClassLoader())
                .findFirst()
                .orElseThrow(() -> new AmpException("selfHealing(true): what heals networks is in"
                        + " org.dl4jamp:dl4j-amp-listeners, which isn't on the class path; add it to the dependencies,"
                        + " or take selfHealing(false)"));
    }
}
