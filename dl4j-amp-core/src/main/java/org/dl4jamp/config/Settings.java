package org.dl4jamp.config;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;

/** The values of an {@link AmpConfig} and its builder, with their defaults and checks. Null and empty are absent. */
final class Settings {
    Precision precision = Precision.AUTO;
    OptLevel optLevel = OptLevel.O1;
    String engine = AmpConfig.AUTO_ENGINE;
    List<PrecisionRule> rules = new ArrayList<>();
    ScalerSetting scaler;
    int maxConsecutiveSkips = AmpConfig.DEFAULT_MAX_CONSECUTIVE_SKIPS;
    GradientPenalty gradientPenalty;
    int microBatches = 1;
    PartialGroup partialGroup = PartialGroup.APPLY;
    OptionalDouble clipGradientNorm = OptionalDouble.empty();
    OptionalDouble clipGradientValue = OptionalDouble.empty();
    boolean measuresGradientNorm;

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

    void engine(String name) {
        if (name == null || name.isBlank()) {
            throw new AmpException(
                    "engine(\"" + name + "\"): a name is needed, \"auto\" or that of an engine such as \"nd4j\"");
        }
        engine = name;
    }

    void scaler(ScalerSetting given) {
        if (scaler != null && !scaler.call().equals(given.call())) {
            throw new AmpException(given.describe() + ": these settings have " + scaler.describe()
                    + " already, and a network has one loss scaler; leave one of the two calls out");
        }
        scaler = given;
    }

    void maxConsecutiveSkips(int given) {
        if (given < 1) {
            throw new AmpException("maxConsecutiveSkips(" + given
                    + "): at least 1 is needed, so that endless skipping ends in a message");
        }
        maxConsecutiveSkips = given;
    }

    void accumulate(int calls, PartialGroup atEpochEnd) {
        if (calls < 1) {
            throw new AmpException(
                    "accumulate(" + calls + "): at least 1 is needed; with 1 each call of fit is a step of its own");
        }
        partialGroup = AmpException.ifNull(atEpochEnd, "partialGroup", "APPLY or CARRY_OVER");
        microBatches = calls;
    }

    static OptionalDouble limit(String name, double limit) {
        if (!(limit >= Float.MIN_NORMAL && limit <= Float.MAX_VALUE)) {
            throw new AmpException(name + "(" + limit + "): a number from " + Float.MIN_NORMAL + " to "
                    + Float.MAX_VALUE + " is needed, the range of FP32; leave the call out to have no limit");
        }
        return OptionalDouble.of(limit);
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
