package org.dl4jamp.examples.cli;

import java.util.List;
import org.dl4jamp.config.AmpConfig;
import picocli.CommandLine.Option;

/** The options for the precision of single layers. */
public final class RuleOptions {
    @Option(
            names = "--keep-full",
            paramLabel = "REGEX",
            description = "Keeps layers in FP32 whose whole name matches; may be repeated.")
    private List<String> full = List.of();

    @Option(
            names = "--lower",
            paramLabel = "REGEX",
            description = "Computes layers in half precision whose whole name matches, where the engine can.")
    private List<String> lower = List.of();

    /**
     * Returns settings with these rules behind their own. Of two by name that match a layer the later one counts.
     *
     * @throws org.dl4jamp.precision.AmpException if a pattern is none
     */
    public AmpConfig in(AmpConfig settings) {
        AmpConfig.Builder builder = settings.toBuilder();
        lower.forEach(builder::lower);
        full.forEach(builder::keepFull);
        return builder.build();
    }
}
