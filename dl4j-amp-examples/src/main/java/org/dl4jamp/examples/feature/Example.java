package org.dl4jamp.examples.feature;

import org.dl4jamp.config.AmpConfig;

/** Shows one feature by a small training. */
@FunctionalInterface
interface Example {
    /**
     * Trains, in seconds.
     *
     * @param settings precision and engine, to which the example adds what it shows
     * @param report takes lines of text, and claims with their figures
     */
    void show(AmpConfig.Builder settings, Report report) throws Exception;
}
