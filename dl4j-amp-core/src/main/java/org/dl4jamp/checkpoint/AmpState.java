package org.dl4jamp.checkpoint;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.AmpConfigJson;
import org.dl4jamp.config.JsonFields;
import org.dl4jamp.gradient.GradientGroup.WaitingGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.Skip;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.shade.jackson.databind.node.ObjectNode;

/**
 * Everything that mixed precision needs, beside the network itself, to go on training as if it had not been
 * interrupted. Serializable if its settings are, gradients that wait included.
 *
 * @param config the settings in force
 * @param scaler the state of the loss scaler in use
 * @param stepsTaken steps that changed the parameters
 * @param stepsSkipped steps that were skipped
 * @param consecutiveSkips number of them at the end, in a row
 * @param iterationsWithoutStep iterations whose gradients were only added up, with {@code AmpConfig.accumulate}
 * @param waiting gradients that wait for more to make a step of, if there are any
 */
public record AmpState(
        AmpConfig config,
        LossScalerState scaler,
        long stepsTaken,
        long stepsSkipped,
        int consecutiveSkips,
        long iterationsWithoutStep,
        Optional<WaitingGroup> waiting)
        implements Serializable {
    /** The format version that is written, and the newest that is read. */
    private static final int FORMAT_VERSION = 1;

    public AmpState {
        AmpException.ifNull(config, "config", "the settings in force");
        AmpException.ifNull(scaler, "scaler", "the state of a loss scaler");
        AmpException.ifNull(waiting, "waiting", "gradients that wait, or Optional.empty()");
        require(stepsTaken >= 0, "stepsTaken", stepsTaken, "at least 0");
        require(stepsSkipped >= 0, "stepsSkipped", stepsSkipped, "at least 0");
        String range = "from 0 to stepsSkipped (" + stepsSkipped + ")";
        require(consecutiveSkips >= 0 && consecutiveSkips <= stepsSkipped, "consecutiveSkips", consecutiveSkips, range);
        require(iterationsWithoutStep >= 0, "iterationsWithoutStep", iterationsWithoutStep, "at least 0");
    }

    /** A state in which no gradients were added up. */
    public AmpState(
            AmpConfig config, LossScalerState scaler, long stepsTaken, long stepsSkipped, int consecutiveSkips) {
        this(config, scaler, stepsTaken, stepsSkipped, consecutiveSkips, 0, Optional.empty());
    }

    /** Returns the same with gradients that were read elsewhere. */
    AmpState with(INDArray sums) {
        Optional<WaitingGroup> whole = waiting.map(
                group -> new WaitingGroup(group.microBatches(), group.examples(), Optional.of(sums), group.skip()));
        return new AmpState(config, scaler, stepsTaken, stepsSkipped, consecutiveSkips, iterationsWithoutStep, whole);
    }

    /** Returns how many micro-batches wait for more to make a step of. */
    public int waitingMicroBatches() {
        return waiting.map(WaitingGroup::microBatches).orElse(0);
    }

    /** The serialized form; {@code sums} are gradients that wait, or null. */
    private record Serialized(String json, INDArray sums) implements Serializable {
        private Object readResolve() {
            AmpState state = fromJson(json.getBytes(StandardCharsets.US_ASCII), "the serialized AmpState");
            return sums == null ? state : state.with(sums);
        }
    }

    private Object writeReplace() {
        return new Serialized(
                new String(toJson(), StandardCharsets.US_ASCII),
                waiting.flatMap(WaitingGroup::sums).orElse(null));
    }

    private static void require(boolean holds, String field, long value, String allowed) {
        if (!holds) {
            throw new AmpException(field + " is " + value + ", but has to be " + allowed);
        }
    }

    /**
     * This state as JSON, in ASCII, but for gradients that wait.
     *
     * @throws AmpException if the settings hold a rule by predicate or a user-written loss scaler
     */
    byte[] toJson() {
        ObjectNode json = JsonFields.MAPPER.createObjectNode().put("formatVersion", FORMAT_VERSION);
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
        waiting.ifPresent(group -> write(group, json.putObject("waiting")));
        return JsonFields.text(json).getBytes(StandardCharsets.US_ASCII);
    }

    private static void write(WaitingGroup group, ObjectNode json) {
        json.put("microBatches", group.microBatches()).put("examples", group.examples());
        group.skip().ifPresent(skip -> {
            ObjectNode why =
                    json.putObject("skip").put("cause", skip.cause().name()).put("what", skip.what());
            skip.first().ifPresent(first -> why.put("first", first));
        });
    }

    /**
     * Reads what {@link #toJson()} wrote.
     *
     * @param where name of the source, for messages
     * @throws AmpException if it's truncated, corrupt or newer
     */
    static AmpState fromJson(byte[] json, String where) {
        return JsonFields.read(json, where, AmpState::state);
    }

    private static AmpState state(JsonFields json) {
        json.formatVersion(FORMAT_VERSION);
        return new AmpState(
                json.object("config", AmpConfigJson::read),
                json.object("scaler", AmpState::scaler),
                json.wholeNumber("stepsTaken"),
                json.wholeNumber("stepsSkipped"),
                json.integer("consecutiveSkips"),
                json.optional("iterationsWithoutStep", json::wholeNumber).orElse(0L),
                json.optionalObject("waiting", AmpState::group));
    }

    private static LossScalerState scaler(JsonFields json) {
        return new LossScalerState(
                json.text("kind"),
                json.number("scale"),
                json.integer("growthTracker"),
                json.integer("hysteresisTracker"));
    }

    private static WaitingGroup group(JsonFields json) {
        return new WaitingGroup(
                json.integer("microBatches"),
                json.wholeNumber("examples"),
                Optional.empty(),
                json.optionalObject("skip", AmpState::skip));
    }

    private static Skip skip(JsonFields json) {
        return new Skip(
                json.constant("cause", Skip.Cause.class), json.text("what"), json.optional("first", json::text));
    }
}
