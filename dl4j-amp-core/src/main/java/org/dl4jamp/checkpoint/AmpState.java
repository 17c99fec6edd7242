package org.dl4jamp.checkpoint;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.AmpException;
import org.dl4jamp.scale.LossScalerState;
import org.nd4j.shade.jackson.databind.node.ObjectNode;

/**
 * Everything that mixed precision needs, beside the network itself, to go on training as if it had not been
 * interrupted. Serializable if its settings are.
 *
 * @param formatVersion version of the format that it's written in
 * @param config the settings in force
 * @param scaler the state of the loss scaler in use
 * @param stepsTaken steps that changed the parameters
 * @param stepsSkipped steps that were skipped
 * @param consecutiveSkips how many of them were the last ones
 */
public record AmpState(
        int formatVersion,
        AmpConfig config,
        LossScalerState scaler,
        long stepsTaken,
        long stepsSkipped,
        int consecutiveSkips)
        implements Serializable {
    /** The format version that is written, and the newest that is read. */
    public static final int FORMAT_VERSION = 1;

    public AmpState {
        AmpException.ifNull(config, "config", "the settings in force");
        AmpException.ifNull(scaler, "scaler", "the state of a loss scaler");
        require(formatVersion == FORMAT_VERSION, "formatVersion", formatVersion, "" + FORMAT_VERSION);
        require(stepsTaken >= 0, "stepsTaken", stepsTaken, "at least 0");
        require(stepsSkipped >= 0, "stepsSkipped", stepsSkipped, "at least 0");
        require(
                consecutiveSkips >= 0 && consecutiveSkips <= stepsSkipped,
                "consecutiveSkips",
                consecutiveSkips,
                "from 0 to stepsSkipped (" + stepsSkipped + ")");
    }

    /** A state in the newest format. */
    public AmpState(
            AmpConfig config, LossScalerState scaler, long stepsTaken, long stepsSkipped, int consecutiveSkips) {
        this(FORMAT_VERSION, config, scaler, stepsTaken, stepsSkipped, consecutiveSkips);
    }

    private static void require(boolean holds, String field, long value, String allowed) {
        if (!holds) {
            throw new AmpException(field + " is " + value + ", but has to be " + allowed);
        }
    }

    /**
     * This state as JSON, in ASCII.
     *
     * @throws AmpException if the settings hold a rule by predicate or a user-written loss scaler
     */
    byte[] toJson() {
        ObjectNode json = JsonFields.MAPPER.createObjectNode().put("formatVersion", formatVersion);
        json.set("config", AmpConfigJson.write(config));
        json.putObject("scaler")
                .put("kind", scaler.kind())
                .put("scale", scaler.scale())
                .put("growthTracker", scaler.growthTracker())
                .put("hysteresisTracker", scaler.hysteresisTracker());
        json.put("stepsTaken", stepsTaken).put("stepsSkipped", stepsSkipped).put("consecutiveSkips", consecutiveSkips);
        return JsonFields.text(json).getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * Reads what {@link #toJson()} wrote.
     *
     * @param where what is read, for messages
     * @throws AmpException if it's truncated, corrupt or newer
     */
    static AmpState fromJson(byte[] bytes, String where) {
        JsonFields json = JsonFields.parse(bytes, where);
        int formatVersion = json.formatVersion(FORMAT_VERSION);
        AmpConfig config = AmpConfigJson.read(json.object("config"));
        JsonFields scaler = json.object("scaler");
        String kind = scaler.text("kind");
        double scale = scaler.number("scale");
        int growthTracker = scaler.integer("growthTracker");
        int hysteresisTracker = scaler.integer("hysteresisTracker");
        scaler.end();
        long stepsTaken = json.wholeNumber("stepsTaken");
        long stepsSkipped = json.wholeNumber("stepsSkipped");
        int consecutiveSkips = json.integer("consecutiveSkips");
        json.end();
        try {
            LossScalerState scalerState = new LossScalerState(kind, scale, growthTracker, hysteresisTracker);
            return new AmpState(formatVersion, config, scalerState, stepsTaken, stepsSkipped, consecutiveSkips);
        } catch (AmpException e) {
            throw new AmpException(where + ": " + e.getMessage(), e);
        }
    }
}
