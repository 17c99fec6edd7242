package org.dl4jamp.config;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.StaticLossScaler;
import org.nd4j.shade.jackson.databind.node.ObjectNode;

/**
 * {@link AmpConfig} as JSON. The settings of a loss scaler are part of it, the scale that it has reached is not.
 *
 * <pre>
 * {"formatVersion": 1, "precision": "HALF", "optLevel": "O1", "engine": "auto",
 *  "rules": [{"kind": "FULL", "name": "bn_.*"},
 *            {"kind": "LOWER", "class": "org.deeplearning4j.nn.conf.layers.DenseLayer"}],
 *  "lossScaler": {"kind": "static", "scale": 1024.0},
 *  "maxConsecutiveSkips": 50}
 * </pre>
 *
 * <p>{@code lossScaler} is absent if dl4j-amp is to choose. Absent if there are none: {@code gradientPenalty} with
 * {@code coefficient} and {@code radius}, {@code accumulate} with {@code microBatches} and {@code partialGroup},
 * {@code clipGradientNorm} and {@code clipGradientValue}. {@code measureGradientNorm} is absent unless it's
 * {@code true}.
 */
public final class AmpConfigJson {
    private static final int FORMAT_VERSION = 1;

    private static final String INSTEAD =
            ", or save with DL4J's own ModelSerializer and give the settings to MixedPrecision.enable";

    private AmpConfigJson() {}

    /** The serialized form of {@link AmpConfig}. So streams hold no classes of scalers and rules. */
    record Serialized(String json) implements Serializable {
        private Object readResolve() {
            return read(json, "the serialized AmpConfig");
        }
    }

    /**
     * Writes settings.
     *
     * @throws AmpException if a rule by predicate or a loss scaler that isn't dl4j-amp's is among them: code can't be
     *     written down
     */
    public static ObjectNode write(AmpConfig config) {
        ObjectNode json = JsonFields.MAPPER
                .createObjectNode()
                .put("formatVersion", FORMAT_VERSION)
                .put("precision", config.precision().name())
                .put("optLevel", config.optLevel().name())
                .put("engine", config.engine());
        json.putArray("rules")
                .addAll(config.rules().stream().map(AmpConfigJson::write).toList());
        config.lossScaler().ifPresent(scaler -> json.set("lossScaler", write(scaler)));
        if (config.scaleSearch() != AmpConfig.DEFAULT_SCALE_SEARCH) {
            json.put("scaleSearch", config.scaleSearch());
        }
        config.gradientPenalty().ifPresent(penalty -> json.putObject("gradientPenalty")
                .put("coefficient", penalty.coefficient())
                .put("radius", penalty.radius()));
        if (config.accumulate() > 1) {
            json.putObject("accumulate")
                    .put("microBatches", config.accumulate())
                    .put("partialGroup", config.partialGroup().name());
        }
        config.clipGradientNorm().ifPresent(norm -> json.put("clipGradientNorm", norm));
        config.clipGradientValue().ifPresent(value -> json.put("clipGradientValue", value));
        if (config.measuresGradientNorm()) {
            json.put("measureGradientNorm", true);
        }
        if (config.layerScales()) {
            json.put("layerScales", true);
        }
        if (config.selfHealing()) {
            json.put("selfHealing", true);
        }
        return json.put("maxConsecutiveSkips", config.maxConsecutiveSkips());
    }

    /** Returns what {@link #write} returns, as text in ASCII. */
    public static String text(AmpConfig config) {
        return JsonFields.text(
                write(AmpException.ifNull(config, "config", "an AmpConfig, such as AmpConfig.defaults()")));
    }

    private static ObjectNode write(PrecisionRule rule) {
        ObjectNode json =
                JsonFields.MAPPER.createObjectNode().put("kind", rule.kind().name());
        if (rule instanceof PrecisionRule.ByName byName) {
            return json.put("name", byName.pattern().pattern());
        } else if (rule instanceof PrecisionRule.ByClass byClass) {
            return json.put("class", byClass.type().getName());
        }
        throw new AmpException(
                rule.describe() + ": a predicate is code, which can't be saved with a network or carried by its"
                        + " configuration; name the layers or their class instead" + INSTEAD);
    }

    private static ObjectNode write(LossScaler scaler) {
        ObjectNode json = JsonFields.MAPPER.createObjectNode();
        if (scaler instanceof DynamicLossScaler dynamic) {
            return json.put("kind", DynamicLossScaler.KIND)
                    .put("initialScale", dynamic.initialScale())
                    .put("growthFactor", dynamic.growthFactor())
                    .put("backoffFactor", dynamic.backoffFactor())
                    .put("growthInterval", dynamic.growthInterval())
                    .put("minScale", dynamic.minScale())
                    .put("maxScale", dynamic.maxScale())
                    .put("hysteresis", dynamic.hysteresis());
        } else if (scaler instanceof StaticLossScaler) {
            return json.put("kind", StaticLossScaler.KIND).put("scale", scaler.scale());
        } else if (scaler instanceof NoLossScaler) {
            return json.put("kind", NoLossScaler.KIND);
        }
        throw new AmpException("lossScaler(" + scaler.getClass().getName()
                + "): only the scalers of org.dl4jamp.scale can be saved with a network or carried by its"
                + " configuration; use one of them" + INSTEAD);
    }

    /**
     * Reads what {@link #write} wrote.
     *
     * @throws AmpException if anything is missing, left over, out of range or newer, or if the class of a rule can't be
     *     loaded
     */
    public static AmpConfig read(JsonFields json) {
        json.formatVersion(FORMAT_VERSION);
        AmpConfig.Builder builder = AmpConfig.builder()
                .precision(json.constant("precision", Precision.class))
                .optLevel(json.constant("optLevel", OptLevel.class))
                .engine(json.text("engine"))
                .maxConsecutiveSkips(json.integer("maxConsecutiveSkips"));
        json.objects("rules", AmpConfigJson::rule).forEach(builder::rule);
        json.optionalObject("lossScaler", AmpConfigJson::scaler).ifPresent(builder::lossScaler);
        json.optional("scaleSearch", json::integer).ifPresent(builder::scaleSearch);
        json.optionalObject("gradientPenalty", AmpConfigJson::penalty).ifPresent(builder::gradientPenalty);
        json.optionalObject(
                "accumulate",
                group -> builder.accumulate(
                        group.integer("microBatches"), group.constant("partialGroup", PartialGroup.class)));
        json.optional("clipGradientNorm", json::number).ifPresent(builder::clipGradientNorm);
        json.optional("clipGradientValue", json::number).ifPresent(builder::clipGradientValue);
        json.optional("measureGradientNorm", json::flag).ifPresent(builder::measureGradientNorm);
        json.optional("layerScales", json::flag).ifPresent(builder::layerScales);
        json.optional("selfHealing", json::flag).ifPresent(builder::selfHealing);
        return builder.build();
    }

    /** Reads what {@link #text} wrote. */
    static AmpConfig read(String text, String where) {
        return JsonFields.read(text.getBytes(StandardCharsets.UTF_8), where, AmpConfigJson::read);
    }

    private static PrecisionRule rule(JsonFields json) {
        LayerKind kind = json.constant("kind", LayerKind.class);
        if (kind != LayerKind.LOWER && kind != LayerKind.FULL) {
            throw json.wrong("kind", "LOWER or FULL");
        }
        return json.has("class")
                ? new PrecisionRule.ByClass(kind, layerClass(json.text("class")))
                : PrecisionRule.ByName.of(kind, json.text("name"));
    }

    private static Class<? extends Layer> layerClass(String name) {
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        try {
            ClassLoader loader = context != null ? context : AmpConfigJson.class.getClassLoader();
            return Class.forName(name, false, loader).asSubclass(Layer.class);
        } catch (ClassNotFoundException | LinkageError e) {
            throw new AmpException(
                    "class " + AmpException.quote(name) + " can't be loaded (" + AmpException.quote(e)
                            + "); put it on the class path",
                    e);
        } catch (ClassCastException e) {
            throw new AmpException("class " + AmpException.quote(name) + " is not a DL4J layer configuration", e);
        }
    }

    private static LossScaler scaler(JsonFields json) {
        String kind = json.text("kind");
        return switch (kind) {
            case DynamicLossScaler.KIND ->
                DynamicLossScaler.builder()
                        .initialScale(json.number("initialScale"))
                        .growthFactor(json.number("growthFactor"))
                        .backoffFactor(json.number("backoffFactor"))
                        .growthInterval(json.integer("growthInterval"))
                        .minScale(json.number("minScale"))
                        .maxScale(json.number("maxScale"))
                        .hysteresis(json.integer("hysteresis"))
                        .build();
            case StaticLossScaler.KIND -> new StaticLossScaler(json.number("scale"));
            case NoLossScaler.KIND -> new NoLossScaler();
            default -> throw json.wrong("kind", "dynamic, static or none");
        };
    }

    private static GradientPenalty penalty(JsonFields json) {
        return GradientPenalty.of(json.number("coefficient"), json.number("radius"));
    }
}
