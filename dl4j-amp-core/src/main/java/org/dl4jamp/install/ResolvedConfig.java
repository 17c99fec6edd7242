package org.dl4jamp.install;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.PenalizedGradient;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.policy.PrecisionPlanner;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.step.GradientTerms;
import org.dl4jamp.step.ScaleUpdates;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settings resolved for one network in this process. The network isn't changed by it.
 *
 * @param config the settings
 * @param engine engine and precision, with the reason
 * @param plan the precision of each layer
 * @param scaler the network's own, or a shared one
 */
public record ResolvedConfig(AmpConfig config, Engines.Choice engine, PrecisionPlan plan, LossScaler scaler) {
    private static final Logger LOG = LoggerFactory.getLogger("org.dl4jamp.MixedPrecision");

    public static ResolvedConfig of(AmpConfig config, NetworkGraph graph) {
        Engines.Choice engine = Engines.choose(config.engine(), config.precision());
        PrecisionPlan plan = plan(config, engine, graph);
        PrecisionPlan fused = PrecisionPlanner.fused(plan, graph, engine.engine());
        return new ResolvedConfig(config, engine, fused, scaler(config, plan));
    }

    static PrecisionPlan plan(AmpConfig config, Engines.Choice engine, NetworkGraph graph) {
        Precision precision = config.optLevel() == OptLevel.O0 ? Precision.FLOAT : engine.precision();
        return PrecisionPlanner.plan(
                graph, precision, config.optLevel(), config.rules(), engine.engine(), engine.reason());
    }

    private static LossScaler scaler(AmpConfig config, PrecisionPlan plan) {
        if (!scalesLoss(config, plan)) {
            return new NoLossScaler();
        }
        boolean scales = plan.precision() == Precision.HALF && config.optLevel() != OptLevel.O3;
        return config.lossScaler()
                .map(given -> config.isLossScalerShared() ? given : copy(given))
                .orElseGet(() -> scales ? DynamicLossScaler.builder().build() : new NoLossScaler());
    }

    private static boolean scalesLoss(AmpConfig config, PrecisionPlan plan) {
        return plan.anyHalf() && !config.layerScales();
    }

    private static LossScaler copy(LossScaler given) {
        return AmpException.ifNull(
                given.copy(), "lossScaler(" + given + ").copy()", "a LossScaler of the same settings and state");
    }

    /**
     * Returns the updates of the scaler by a network's steps.
     *
     * @throws AmpException if the scale is shared and the network makes several steps in an iteration
     */
    public ScaleUpdates scaleUpdates(AmpNetwork network) {
        Optional<SharedLossScale> shared = config.sharedLossScale();
        if (shared.isPresent() && network.backpropType() == BackpropType.TruncatedBPTT) {
            throw new AmpException(
                    "sharedLossScale: the network is trained with truncated backpropagation through time,"
                            + " which makes a step of each segment within one call of fit, before"
                            + " SharedLossScale.update() can be called;"
                            + " use BackpropType.Standard, or lossScaler(scaler), of which each network has a copy");
        }
        return new ScaleUpdates(scaler, shared);
    }

    /** Returns what becomes of a network's gradients on their way to the updater. */
    public GradientTerms gradientTerms(Model network) {
        return new GradientTerms(
                config.gradientPenalty()
                        .map(penalty -> new PenalizedGradient(penalty.coefficient(), penalty.radius(), network)),
                config.scaleSearch(),
                config.accumulate(),
                config.partialGroup() == PartialGroup.APPLY,
                new Clipping(config.clipGradientNorm(), config.clipGradientValue()),
                config.measuresGradientNorm());
    }

    /**
     * Gives the scaler the state that was saved, unless another precision has brought another kind of scaler.
     *
     * @throws AmpException if the scaler can't have that state
     */
    void restoreScaler(AmpState state) {
        boolean sameKind = scaler.state().kind().equals(state.scaler().kind());
        boolean ofSettings = scalesLoss(config, plan) && config.lossScaler().isPresent();
        if (sameKind || ofSettings) {
            scaler.restore(state.scaler());
        } else {
            LOG.info(
                    "The loss scale isn't restored: the network was saved in another precision, and in {} the loss"
                            + " scaler is {}",
                    plan.precision(),
                    scaler);
        }
    }

    /** Says in the log what was chosen, louder if that isn't what the settings make one expect. */
    public void announce() {
        String name = engine.engine().name();
        if (config.optLevel() == OptLevel.O0) {
            LOG.info("Mixed precision is at O0: the network trains in FP32");
        } else if (!engine.precision().isHalf()) {
            boolean left = plan.rows().stream().noneMatch(row -> row.engine().equals(name));
            LOG.info("The network trains in FP32{}: {}", left ? "" : " on engine \"" + name + "\"", engine.reason());
        } else if (!plan.anyHalf()) {
            LOG.warn(
                    "No layer of the network can run in {}, so it trains in FP32. The plan says why:\n{}",
                    engine.precision(),
                    plan);
        } else {
            LOG.debug("Mixed precision is on: {} on engine \"{}\", since {}", plan.precision(), name, plan.note());
        }
        if (!scalesLoss(config, plan) && config.lossScaler().isPresent()) {
            LOG.info(
                    "The loss isn't scaled by {}: {}",
                    config.lossScaler().get(),
                    plan.anyHalf()
                            ? "each layer in half precision has a scale of its own"
                            : "no layer computes in half precision");
        }
    }
}
