package org.dl4jamp.config;

import java.io.Serializable;
import org.dl4jamp.precision.AmpException;

/**
 * The serialized form of {@link AmpConfig}: the JSON that a configuration carries. So streams hold no classes of
 * scalers and rules, and what can't be written is refused with the same message.
 *
 * @param json written by {@link AmpConfigJson}
 */
public record SerializedConfig(String json) implements Serializable {
    /**
     * Writes settings.
     *
     * @throws AmpException if the settings hold a rule by predicate or a user-written loss scaler
     */
    public static SerializedConfig of(AmpConfig config) {
        return new SerializedConfig(AmpConfigJson.text(config));
    }

    private Object readResolve() {
        return AmpConfigJson.read(json, "the serialized AmpConfig");
    }
}
