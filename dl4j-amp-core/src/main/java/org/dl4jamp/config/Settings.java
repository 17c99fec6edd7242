package org.dl4jamp.config;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.SharedLossScale;

/** The values of an {@link AmpConfig} and its builder, with their defaults and checks. Null and empty are absent. */
final class Settings implements Cloneable {
    private static final String OR_DEFAULT = ", or leave the call out to have the precision's default";

    Precision precision = Precision.AUTO;
    OptLevel optLevel = OptLevel.O1;
    String engine = AmpConfig.AUTO_ENGINE;
    List<PrecisionRule> rules = new ArrayList<>();
    LossScaler lossScaler;
    SharedLossScale sharedLossScale;
    int maxConsecutiveSkips = AmpConfig.DEFAULT_MAX_CONSECUTIVE_SKIPS;
    int scaleSearch = AmpConfig.DEFAULT_SCALE_SEARCH;
    GradientPenalty gradientPenalty;
    int microBatches = 1;
    PartialGroup partialGroup = PartialGroup.APPLY;
    OptionalDouble clipGradientNorm = OptionalDouble.empty();
    OptionalDouble clipGradientValue = OptionalDouble.empty();
    boolean measuresGradientNorm;
    boolean layerScales;
    boolean selfHealing;

    /** Returns a copy for an {@link AmpConfig}, whose rules can't change. */
    Settings frozen() {
        Settings copy = copy();
        copy.rules = List.copyOf(rules);
        return copy;
    }

    /** Returns a copy for a builder. */
    Settings copy() {
        try {
            Settings copy = (Settings) clone();
            copy.rules = new ArrayList<>(rules);
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns precision, preset, engine and rules alone. */
    Settings forInference() {
        Settings inference = new Settings();
        inference.precision = precision;
        inference.optLevel = optLevel;
        inference.engine = engine;
        inference.rules = rules;
        return inference;
    }

    void engine(String name) {
        if (name == null || name.isBlank()) {
            throw new AmpException(
                    "engine(\"" + name + "\"): a name is needed, \"auto\" or that of an engine such as \"nd4j\"");
        }
        engine = name;
    }

    void lossScaler(LossScaler scaler) {
        AmpException.ifNull(scaler, "lossScaler", "a LossScaler" + OR_DEFAULT);
        requireOne("lossScaler", scaler, "sharedLossScale", sharedLossScale);
        lossScaler = scaler;
    }

    void sharedLossScale(SharedLossScale shared) {
        AmpException.ifNull(shared, "shared", "a SharedLossScale" + OR_DEFAULT);
        requireOne("sharedLossScale", shared, "lossScaler", lossScaler);
        sharedLossScale = shared;
    }

    private static void requireOne(String call, Object given, String otherCall, Object other) {
        if (other != null) {
            throw new AmpException(call + "(" + given + "): these settings have " + otherCall + "(" + other
                    + ") already, and a network has one loss scaler; leave one of the two calls out");
        }
    }

    void maxConsecutiveSkips(int steps) {
        if (steps < 1) {
            throw new AmpException("maxConsecutiveSkips(" + steps
                    + "): at least 1 is needed, so that endless skipping ends in a message");
        }
        maxConsecutiveSkips = steps;
    }

    void scaleSearch(int steps) {
        if (steps < 0) {
            throw new AmpException("scaleSearch(" + steps + "): a number of steps from 0 on is needed, such as "
                    + AmpConfig.DEFAULT_SCALE_SEARCH + "; 0 skips steps from the first on");
        }
        scaleSearch = steps;
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

    @Override
    public String toString() {
        StringBuilder calls = new StringBuilder("AmpConfig.builder().precision(" + precision + ").optLevel(" + optLevel
                + ").engine(\"" + engine + "\")");
        rules.forEach(rule -> calls.append("." + rule.describe()));
        calls.append(call(lossScaler != null, "lossScaler(" + lossScaler + ")"))
                .append(call(sharedLossScale != null, "sharedLossScale(" + sharedLossScale + ")"))
                .append(call(scaleSearch != AmpConfig.DEFAULT_SCALE_SEARCH, "scaleSearch(" + scaleSearch + ")"))
                .append(call(gradientPenalty != null, "gradientPenalty(" + gradientPenalty + ")"))
                .append(call(microBatches > 1, "accumulate(" + microBatches + ", PartialGroup." + partialGroup + ")"));
        clipGradientNorm.ifPresent(norm -> calls.append(".clipGradientNorm(" + norm + ")"));
        clipGradientValue.ifPresent(value -> calls.append(".clipGradientValue(" + value + ")"));
        calls.append(call(measuresGradientNorm, "measureGradientNorm(true)"))
                .append(call(layerScales, "layerScales(true)"))
                .append(call(selfHealing, "selfHealing(true)"));
        return calls.append(".maxConsecutiveSkips(" + maxConsecutiveSkips + ").build()")
                .toString();
    }

    private static String call(boolean isSet, String call) {
        return isSet ? "." + call : "";
    }
}
