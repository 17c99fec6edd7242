package org.dl4jamp.heal;

import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.BackpropType;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.install.EnabledNetwork;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.Skip;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Heals a network in HALF, see {@code AmpConfig.selfHealing}. Looks at each iteration when it has ended, where layers
 * may be replaced:
 *
 * <pre>
 * gradients overflowed at a loss scale of 1 or less,
 * or mostly underflow                                 each layer gets a scale of its own
 * still gradients or outputs aren't finite,
 * though they are in FP32                             the first layer of those is kept in FP32, and so on
 * </pre>
 *
 * <p>What isn't finite in FP32 either is left alone: training has diverged.
 */
final class Healing {
    private static final Logger LOG = LoggerFactory.getLogger("org.dl4jamp.MixedPrecision");

    /** The difference from the true gradient of a layer, relative to it, from which its gradients mostly underflow. */
    private static final double UNDERFLOW = 0.5;

    private static final long RARELY = 1024;

    /** An overflow at this scale isn't the scale's fault. */
    private static final double SMALLEST_USEFUL_SCALE = 1;

    private final Supplier<EnabledNetwork> enabled;
    private final Consumer<AmpConfig> change;
    private Optional<Skip> skip = Optional.empty();
    private double scaleOfSkip;
    private long lookedAt;

    /**
     * @param enabled the network's mixed precision of now
     * @param change gives it other settings
     */
    Healing(Supplier<EnabledNetwork> enabled, Consumer<AmpConfig> change) {
        this.enabled = enabled;
        this.change = change;
    }

    void skipped(Skip reason) {
        skip = Optional.of(reason);
        scaleOfSkip = enabled.get().settings().scaler().scale();
    }

    void iterationEnds() {
        Optional<Skip> reason = skip;
        skip = Optional.empty();
        if (enabled.get().plan().precision() != Precision.HALF
                || enabled.get().pauses().areThereAny()) {
            return;
        }
        if (reason.isPresent()) {
            heal(reason.get());
        } else if (isDue()) {
            lookForUnderflow();
        }
    }

    private boolean canRepeat() {
        return enabled.get().served().backpropType() == BackpropType.Standard;
    }

    private AmpConfig config() {
        return enabled.get().settings().config();
    }

    private boolean isDue() {
        long taken = enabled.get().step().counts().taken();
        boolean due = taken != lookedAt
                && (taken == Long.highestOneBit(taken) || taken % RARELY == 0)
                && canRepeat()
                && !config().layerScales();
        lookedAt = taken;
        return due;
    }

    private void lookForUnderflow() {
        Optional<String> layer;
        try (TrialPasses passes = new TrialPasses(enabled.get())) {
            layer = passes.layerWhoseGradientsDiffer(UNDERFLOW);
        }
        layer.ifPresent(name -> giveScales("most of the gradients of layer \"" + name + "\" underflow at loss scale "
                + enabled.get().settings().scaler().scale()));
    }

    private void heal(Skip reason) {
        if (reason.cause() == Skip.Cause.OVERFLOW && !config().layerScales()) {
            LossScaler scaler = enabled.get().settings().scaler();
            boolean stays = scaler.scale() >= scaleOfSkip && !config().isLossScalerShared();
            if (scaleOfSkip > SMALLEST_USEFUL_SCALE && !stays) {
                return;
            }
            giveScales(reason.what()
                    + reason.first().map(first -> ", first those of " + first).orElse(""));
        }
        if ((reason.isOverflow() || reason.cause() == Skip.Cause.LOSS) && canRepeat()) {
            keepInFloat(reason);
        }
    }

    /** Keeps layer after layer in FP32 until the batch's loss and gradients are finite. */
    private void keepInFloat(Skip reason) {
        for (int layers = enabled.get().plan().rows().size(); layers > 0; layers--) {
            Set<String> names;
            try (TrialPasses passes = new TrialPasses(enabled.get())) {
                Optional<String> source = passes.firstNonFinite();
                if (source.isEmpty() || !passes.isFiniteInFloat()) {
                    return;
                }
                names = HalfLayers.at(
                        source.get(),
                        enabled.get().plan(),
                        enabled.get().served().graph());
            }
            if (names.isEmpty()) {
                return;
            }
            AmpConfig.Builder healed = config().toBuilder();
            names.forEach(name -> healed.keepFull(Pattern.quote(name)));
            change("keeps " + quoted(names) + " in FP32 from now on", reason.what(), healed.build());
        }
    }

    private static String quoted(Set<String> names) {
        return names.stream().map(name -> "layer \"" + name + "\"").collect(Collectors.joining(", "));
    }

    private void giveScales(String evidence) {
        change(
                "gives each layer in HALF a scale of its own from now on",
                evidence,
                config().toBuilder().layerScales(true).build());
    }

    private void change(String what, String evidence, AmpConfig settings) {
        change.accept(settings);
        LOG.warn("Mixed precision {} (selfHealing): {}", what, evidence);
    }
}
