package org.dl4jamp.inspect.compare;

import java.util.Collection;
import java.util.regex.Pattern;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;

/**
 * A policy, and the line of a program that makes it.
 *
 * @param config the settings
 * @param line the calls that make them
 */
record PolicyLine(AmpConfig config, String line) {
    private static final Pattern PLAIN = Pattern.compile("[\\w -]+");

    /** Returns settings with the precision that they were resolved to. */
    static PolicyLine of(AmpConfig config, Precision precision) {
        StringBuilder line = new StringBuilder("AmpConfig.builder().precision(Precision." + precision + ")");
        if (config.optLevel() != OptLevel.O1) {
            line.append(".optLevel(OptLevel." + config.optLevel() + ")");
        }
        if (!config.engine().equals(AmpConfig.AUTO_ENGINE)) {
            line.append(".engine(\"" + config.engine() + "\")");
        }
        config.rules().forEach(rule -> line.append("." + rule.describe()));
        return new PolicyLine(config.toBuilder().precision(precision).build(), line.toString());
    }

    /** Returns these settings with layers kept in FP32. */
    PolicyLine keeping(Collection<String> layers) {
        AmpConfig.Builder builder = config.toBuilder();
        StringBuilder calls = new StringBuilder(line);
        for (String layer : layers) {
            String regex = PLAIN.matcher(layer).matches() ? layer : Pattern.quote(layer);
            builder.keepFull(regex);
            calls.append(".keepFull(\"" + regex.replace("\\", "\\\\").replace("\"", "\\\"") + "\")");
        }
        return new PolicyLine(builder.build(), calls.toString());
    }

    PolicyLine withLayerScales() {
        return new PolicyLine(config.toBuilder().layerScales(true).build(), line + ".layerScales(true)");
    }

    /** Returns the line as a program has it. */
    String call() {
        return line + ".build()";
    }
}
