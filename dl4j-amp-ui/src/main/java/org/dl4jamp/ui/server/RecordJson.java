package org.dl4jamp.ui.server;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.dl4jamp.listeners.NumberStatistics;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.ui.record.PlanContent;
import org.dl4jamp.ui.record.SkipContent;
import org.dl4jamp.ui.record.StepContent;
import org.dl4jamp.ui.record.StoredRecord;

/** Records of one worker as JSON. A number that isn't finite, which JSON doesn't have, is null. */
final class RecordJson {
    private static final MathContext DIGITS = new MathContext(5);

    private final PlanContent plan;
    private final boolean withLayers;

    /** @param withLayers whether steps have the numbers of their layers */
    RecordJson(PlanContent plan, boolean withLayers) {
        this.plan = plan;
        this.withLayers = withLayers;
    }

    JsonObject plan() {
        JsonArray rows = new JsonArray();
        for (PrecisionPlan.Row row : plan.plan().rows()) {
            rows.add(new JsonObject()
                    .put("name", row.name())
                    .put("className", row.className())
                    .put("precision", row.precision().name())
                    .put("half", row.precision().isHalf())
                    .put("input", row.input().name())
                    .put("output", row.output().name())
                    .put("engine", row.engine())
                    .put("reason", row.reason()));
        }
        return new JsonObject()
                .put("network", plan.network())
                .put("engine", plan.engine())
                .put("scaler", plan.scaler())
                .put("layerScales", plan.layerScales())
                .put("precision", plan.plan().precision().name())
                .put("note", plan.plan().note())
                .put("rows", rows);
    }

    JsonObject step(StoredRecord record) {
        StepContent step = (StepContent) record.content();
        JsonObject json = new JsonObject()
                .put("time", record.getTimeStamp())
                .put("iteration", step.iteration())
                .put("epoch", step.epoch())
                .put("loss", finite(step.loss()))
                .put("lossScale", exact(step.lossScale()))
                .put("taken", step.stepsTaken())
                .put("skipped", step.stepsSkipped());
        if (withLayers && !step.layers().isEmpty()) {
            Map<String, StepContent.Layer> layers = step.layers().stream()
                    .collect(Collectors.toMap(StepContent.Layer::name, Function.identity(), (one, other) -> one));
            json.put("outputs", ofRows(layers, layer -> numbers(layer.output())))
                    .put("gradients", ofRows(layers, layer -> numbers(layer.gradient())))
                    .put("scales", ofRows(layers, layer -> exact(layer.scale().orElse(Double.NaN))));
        }
        return json;
    }

    /** Returns a value for each row of the plan, in its order; null for those without. */
    private JsonArray ofRows(Map<String, StepContent.Layer> layers, Function<StepContent.Layer, Object> value) {
        List<Object> values = new ArrayList<>();
        for (PrecisionPlan.Row row : plan.plan().rows()) {
            StepContent.Layer layer = layers.get(row.name());
            values.add(layer == null ? null : value.apply(layer));
        }
        return new JsonArray(values);
    }

    /** Returns the shares of zeros, subnormal, nearly overflowing and non-finite numbers, and the largest magnitude. */
    private static JsonArray numbers(Optional<NumberStatistics> numbers) {
        return numbers.map(of -> Arrays.asList(
                        finite(of.zero()),
                        finite(of.subnormal()),
                        finite(of.nearOverflow()),
                        finite(of.nonFinite()),
                        finite(of.largest())))
                .map(JsonArray::new)
                .orElse(null);
    }

    JsonObject skip(StoredRecord record) {
        SkipReport report = ((SkipContent) record.content()).report();
        return new JsonObject()
                .put("time", record.getTimeStamp())
                .put("iteration", report.iteration())
                .put("cause", report.skip().cause().name())
                .put("what", report.skip().what())
                .put("parameter", report.skip().first().orElse(null))
                .put("lossScale", exact(report.lossScale()))
                .put("origin", report.origin().map(RecordJson::range).orElse(null))
                .put("before", ranges(report.before()))
                .put("batch", ranges(report.batch()));
    }

    private static JsonArray ranges(List<SkipReport.Range> ranges) {
        return new JsonArray(ranges.stream().map(RecordJson::range).toList());
    }

    private static JsonObject range(SkipReport.Range range) {
        return new JsonObject()
                .put("layer", range.layer())
                .put("array", range.array())
                .put("largest", finite(range.largest()))
                .put("nonFinite", range.nonFinite())
                .put("length", range.length());
    }

    /** Returns a scale, which is shown as a power of two; null if it's infinite or NaN. */
    private static Double exact(double scale) {
        return Double.isFinite(scale) ? Double.valueOf(scale) : null;
    }

    /** Returns a number of five digits; null if it's infinite or NaN. */
    private static Double finite(double number) {
        return Double.isFinite(number)
                ? Double.valueOf(new BigDecimal(number).round(DIGITS).doubleValue())
                : null;
    }
}
