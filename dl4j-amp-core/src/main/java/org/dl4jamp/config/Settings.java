package org.dl4jamp.config;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;

/** The values of an {@link AmpConfig} and its builder, with their defaults and checks. Null and empty are absent. */
final class Settings {
    private Precision precision = Precision.AUTO;
    private OptLevel optLevel = OptLevel.O1;
    private String engine = AmpConfig.AUTO_ENGINE;
    private List<PrecisionRule> rules = new ArrayList<>();
    private ScalerSetting scaler;
    private int maxConsecutiveSkips = AmpConfig.DEFAULT_MAX_CONSECUTIVE_SKIPS;
    private GradientPenalty gradientPenalty;
    private int microBatches = 1;
    private PartialGroup partialGroup = PartialGroup.APPLY;
    private OptionalDouble clipGradientNorm = OptionalDouble.empty();
    private OptionalDouble clipGradientValue = OptionalDouble.empty();
    private boolean measuresGradientNorm;

    /** Returns a copy for an {@link AmpConfig}, whose rules can't change. */
    Settings frozen() {
        Settings copy = forInference();
        copy.scaler = scaler;
        copy.maxConsecutiveSkips = maxConsecutiveSkips;
        copy.gradientPenalty = gradientPenalty;
        copy.microBatches = microBatches;
        copy.partialGroup = partialGroup;
        copy.clipGradientNorm = clipGradientNorm;
        copy.clipGradientValue = clipGradientValue;
        copy.measuresGradientNorm = measuresGradientNorm;
        return copy;
    }

    /** Returns a copy of precision, preset, engine and rules, which can't change; the others have their defaults. */
    Settings forInference() {
        Settings copy = new Settings();
        copy.precision = precision;
        copy.optLevel = optLevel;
        copy.engine = engine;
        copy.rules = List.copyOf(rules);
        return copy;
    }

    Precision precision() {
        return precision;
    }

    void precision(Precision given) {
        precision = AmpException.ifNull(given, "precision", "AUTO, HALF, BFLOAT16 or FLOAT");
    }

    OptLevel optLevel() {
        return optLevel;
    }

    void optLevel(OptLevel given) {
        optLevel = AmpException.ifNull(given, "optLevel", "O0, O1, O2 or O3");
    }

    String engine() {
        return engine;
    }

    void engine(String name) {
        if (name == null || name.isBlank()) {
            throw new AmpException(
                    "engine(\"" + name + "\"): a name is needed, \"auto\" or that of an engine such as \"nd4j\"");
        }
        engine = name;
    }

    List<PrecisionRule> rules() {
        return rules;
    }

    void rule(LayerKind kind, String nameRegex) {
        rules.add(PrecisionRule.ByName.of(kind, nameRegex));
    }

    void rule(LayerKind kind, Class<? extends Layer> layerClass) {
        rules.add(new PrecisionRule.ByClass(
                kind,
                AmpException.ifNull(
                        layerClass, "layerClass", "a class of layer configurations, such as DenseLayer.class")));
    }

    void rule(LayerKind kind, Predicate<? super Layer> predicate) {
        rules.add(new PrecisionRule.ByPredicate(
                kind, AmpException.ifNull(predicate, "predicate", "a predicate of layer configurations")));
    }

    ScalerSetting scaler() {
        return scaler;
    }

    void scaler(ScalerSetting given) {
        if (scaler != null && !scaler.call().equals(given.call())) {
            throw new AmpException(given.describe() + ": these settings have " + scaler.describe()
                    + " already, and a network has one loss scaler; leave one of the two calls out");
        }
        scaler = given;
    }

    int maxConsecutiveSkips() {
        return maxConsecutiveSkips;
    }

    void maxConsecutiveSkips(int given) {
        if (given < 1) {
            throw new AmpException("maxConsecutiveSkips(" + given
                    + "): at least 1 is needed, so that endless skipping ends in a message");
        }
        maxConsecutiveSkips = given;
    }

    GradientPenalty gradientPenalty() {
        return gradientPenalty;
    }

    void gradientPenalty(GradientPenalty given) {
        gradientPenalty =
                AmpException.ifNull(given, "gradientPenalty", "a GradientPenalty, or leave the call out to have none");
    }

    int microBatches() {
        return microBatches;
    }

    PartialGroup partialGroup() {
        return partialGroup;
    }

    void accumulate(int calls, PartialGroup atEpochEnd) {
        if (calls < 1) {
            throw new AmpException(
                    "accumulate(" + calls + "): at least 1 is needed; with 1 each call of fit is a step of its own");
        }
        partialGroup = AmpException.ifNull(atEpochEnd, "partialGroup", "APPLY or CARRY_OVER");
        microBatches = calls;
    }

    OptionalDouble clipGradientNorm() {
        return clipGradientNorm;
    }

    void clipGradientNorm(double limit) {
        clipGradientNorm = limit("clipGradientNorm", limit);
    }

    OptionalDouble clipGradientValue() {
        return clipGradientValue;
    }

    void clipGradientValue(double limit) {
        clipGradientValue = limit("clipGradientValue", limit);
    }

    private static OptionalDouble limit(String name, double limit) {
        if (!(limit >= Float.MIN_NORMAL && limit <= Float.MAX_VALUE)) {
            throw new AmpException(name + "(" + limit + "): a number from " + Float.MIN_NORMAL + " to "
                    + Float.MAX_VALUE + " is needed, the range of FP32; leave the call out to have no limit");
        }
        return OptionalDouble.of(limit);
    }

    boolean measuresGradientNorm() {
        return measuresGradientNorm;
    }

    void measureGradientNorm(boolean measured) {
        measuresGradientNorm = measured;
    }

    /** Returns the calls that make these settings; a scaler is shown with its state. */
    @Override
    public String toString() {
        StringBuilder calls = new StringBuilder("AmpConfig.builder().precision(" + precision + ").optLevel(" + optLevel
                + ").engine(\"" + engine + "\")");
        calls.append(rules.stream().map(rule -> "." + rule.describe()).collect(Collectors.joining()));
        if (scaler != null) {
            calls.append('.').append(scaler.describe());
        }
        if (gradientPenalty != null) {
            calls.append(".gradientPenalty(").append(gradientPenalty).append(')');
        }
        if (microBatches > 1) {
            calls.append(".accumulate(" + microBatches + ", PartialGroup." + partialGroup + ")");
        }
        clipGradientNorm.ifPresent(norm -> calls.append(".clipGradientNorm(" + norm + ")"));
        clipGradientValue.ifPresent(value -> calls.append(".clipGradientValue(" + value + ")"));
        if (measuresGradientNorm) {
            calls.append(".measureGradientNorm(true)");
        }
        return calls.append(".maxConsecutiveSkips(" + maxConsecutiveSkips + ").build()")
                .toString();
    }
}
