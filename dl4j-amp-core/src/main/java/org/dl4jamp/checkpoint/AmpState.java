package org.dl4jamp.checkpoint;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.AmpConfigJson;
import org.dl4jamp.config.JsonFields;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScalerState;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.shade.jackson.databind.node.ObjectNode;

/**
 * Everything that mixed precision needs, beside the network itself, to go on training as if it had not been
 * interrupted. Serializable if its settings are, gradients that wait included.
 *
 * @param formatVersion version of the format that it's written in
 * @param config the settings in force
 * @param scaler the state of the loss scaler in use
 * @param stepsTaken steps that changed the parameters
 * @param stepsSkipped steps that were skipped
 * @param consecutiveSkips number of them at the end, in a row
 * @param iterationsWithoutStep iterations whose gradients were only added up, with {@code AmpConfig.accumulate}
 * @param waiting gradients that wait for more to make a step of, if there are any
 */
public record AmpState(
        int formatVersion,
        AmpConfig config,
        LossScalerState scaler,
        long stepsTaken,
        long stepsSkipped,
        int consecutiveSkips,
        long iterationsWithoutStep,
        Optional<WaitingGradients> waiting)
        implements Serializable {
    /** The format version that is written, and the newest that is read. */
    public static final int FORMAT_VERSION = 1;

    public AmpState {
        AmpException.ifNull(config, "config", "the settings in force");
        AmpException.ifNull(scaler, "scaler", "the state of a loss scaler");
        AmpException.ifNull(waiting, "waiting", "gradients that wait, or Optional.empty()");
        require(formatVersion == FORMAT_VERSION, "formatVersion", formatVersion, "" + FORMAT_VERSION);
        require(stepsTaken >= 0, "stepsTaken", stepsTaken, "at least 0");
        require(stepsSkipped >= 0, "stepsSkipped", stepsSkipped, "at least 0");
        require(
                consecutiveSkips >= 0 && consecutiveSkips <= stepsSkipped,
                "consecutiveSkips",
                consecutiveSkips,
                "from 0 to stepsSkipped (" + stepsSkipped + ")");
        require(iterationsWithoutStep >= 0, "iterationsWithoutStep", iterationsWithoutStep, "at least 0");
    }

    /** A state in the newest format, in which no gradients were added up. */
    public AmpState(
            AmpConfig config, LossScalerState scaler, long stepsTaken, long stepsSkipped, int consecutiveSkips) {
        this(config, scaler, stepsTaken, stepsSkipped, consecutiveSkips, 0, Optional.empty());
    }

    /** A state in the newest format. */
    public AmpState(
            AmpConfig config,
            LossScalerState scaler,
            long stepsTaken,
            long stepsSkipped,
            int consecutiveSkips,
            long iterationsWithoutStep,
            Optional<WaitingGradients> waiting) {
        this(
                FORMAT_VERSION,
                config,
                scaler,
                stepsTaken,
                stepsSkipped,
                consecutiveSkips,
                iterationsWithoutStep,
                waiting);
    }

    /** Returns the same with gradients that were read elsewhere. */
    AmpState with(INDArray sums) {
        return new AmpState(
                config,
                scaler,
                stepsTaken,
                stepsSkipped,
                consecutiveSkips,
                iterationsWithoutStep,
                waiting.map(gradients -> gradients.with(sums)));
    }

    private Object writeReplace() {
        return SerializedState.of(this);
    }

    private static void require(boolean holds, String field, long value, String allowed) {
        if (!holds) {
            throw new AmpException(field + " is " + value + ", but has to be " + allowed);
        }
    }

    /**
     * This state as JSON, in ASCII, but for gradients that wait: these are {@link GradientsEntry}'s.
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
        if (iterationsWithoutStep > 0) {
            json.put("iterationsWithoutStep", iterationsWithoutStep);
        }
        waiting.ifPresent(gradients -> write(gradients, json.putObject("waiting")));
        return JsonFields.text(json).getBytes(StandardCharsets.US_ASCII);
    }

    private static void write(WaitingGradients gradients, ObjectNode json) {
        json.put("microBatches", gradients.microBatches()).put("examples", gradients.examples());
        gradients.failure().ifPresent(failure -> {
            ObjectNode why =
                    json.putObject("failure").put("cause", failure.cause()).put("what", failure.what());
            failure.first().ifPresent(first -> why.put("first", first));
        });
    }

    private static WaitingGradients waiting(JsonFields json) {
        int microBatches = json.integer("microBatches");
        long examples = json.wholeNumber("examples");
        Optional<WaitingGradients.Failure> failure =
                json.has("failure") ? Optional.of(failure(json.object("failure"))) : Optional.empty();
        json.end();
        return new WaitingGradients(microBatches, examples, Optional.empty(), failure);
    }

    private static WaitingGradients.Failure failure(JsonFields json) {
        String cause = json.text("cause");
        String what = json.text("what");
        Optional<String> first = json.has("first") ? Optional.of(json.text("first")) : Optional.empty();
        json.end();
        return new WaitingGradients.Failure(cause, what, first);
    }

    /**
     * Reads what {@link #toJson()} wrote.
     *
     * @param where name of the source, for messages
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
        long iterationsWithoutStep = json.has("iterationsWithoutStep") ? json.wholeNumber("iterationsWithoutStep") : 0;
        try {
            Optional<WaitingGradients> waiting =
                    json.has("waiting") ? Optional.of(waiting(json.object("waiting"))) : Optional.empty();
            json.end();
            LossScalerState scalerState = new LossScalerState(kind, scale, growthTracker, hysteresisTracker);
            return new AmpState(
                    formatVersion,
                    config,
                    scalerState,
                    stepsTaken,
                    stepsSkipped,
                    consecutiveSkips,
                    iterationsWithoutStep,
                    waiting);
        } catch (AmpException e) {
            throw e.getMessage().startsWith(where) ? e : new AmpException(where + ": " + e.getMessage(), e);
        }
    }
}
