package org.dl4jamp.config;

import java.io.Serializable;
import org.dl4jamp.precision.AmpException;

/**
 * What {@link AmpConfig} is in Java's serialization: its settings as JSON, the very ones that a configuration carries.
 * So streams hold no classes of scalers and rules, and what can't travel is refused in the same words.
 *
 * @param json what {@link AmpConfigJson} writes
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
