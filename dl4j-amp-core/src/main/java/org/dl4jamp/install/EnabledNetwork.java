package org.dl4jamp.install;

import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.step.ScaleUpdates;
import org.dl4jamp.step.StepCounts;
import org.dl4jamp.step.TrainingStep;

/** A network with mixed precision enabled: its settings, training step and wrappers, until they are removed. */
public final class EnabledNetwork {
    private final ResolvedConfig settings;
    private final TrainingStep step;
    private final TrainingInstallation installation;
    private final Pauses pauses;

    /**
     * Enables mixed precision. The caller holds the network's monitor.
     *
     * @param owner returned by {@link TrainingStep#owner()}
     * @throws AmpException if it can't be done, with the reason; the network is then as it was
     */
    public EnabledNetwork(Object owner, AmpNetwork network, AmpConfig config) {
        Preconditions.check(network);
        this.settings = ResolvedConfig.of(config, network.graphOfInstances());
        ScaleUpdates scale = settings.scaleUpdates(network);
        this.step = new TrainingStep(
                owner, network, scale, config.maxConsecutiveSkips(), settings.gradientTerms(network.model()));
        scale.factor();
        this.installation = new TrainingInstallation(network, settings, scale::factor, step);
        installation.install(settings.engine().engine());
        settings.announce();
        this.pauses = new Pauses(step, scale, installation);
    }

    public ResolvedConfig settings() {
        return settings;
    }

    public TrainingStep step() {
        return step;
    }

    public Pauses pauses() {
        return pauses;
    }

    /** Returns the state to save beside the network. */
    public AmpState state() {
        StepCounts counts = step.counts();
        return new AmpState(
                settings.config(),
                settings.scaler().state(),
                counts.taken(),
                counts.skipped(),
                counts.consecutiveSkips(),
                counts.collected(),
                step.waiting());
    }

    /**
     * Goes on from a saved state.
     *
     * @throws AmpException if the loss scaler, or the network, can't have it; mixed precision is then removed
     */
    public void restore(AmpState state) {
        try {
            settings.restoreScaler(state);
            state.waiting().ifPresent(step::restore);
            step.restore(new StepCounts(
                    state.stepsTaken(), state.stepsSkipped(), state.consecutiveSkips(), state.iterationsWithoutStep()));
        } catch (AmpException e) {
            remove();
            throw e;
        }
    }

    /**
     * Makes a step of the micro-batches that wait for more.
     *
     * @return whether any were waiting
     * @throws AmpException if mixed precision is removed, or it's called within a pass of the network
     */
    public boolean applyPartialGroup() {
        Model network = step.network();
        NetworkCall.refuseInPass("MixedPrecision.applyPartialGroup", network);
        synchronized (network) {
            if (isRemoved()) {
                throw new AmpException(
                        "applyPartialGroup: this mixed precision is closed, and its network trains without;"
                                + " call it before close(), or ask MixedPrecision.of(network) for the one in force");
            }
            return step.applyGroup();
        }
    }

    /** Returns whether {@link #remove()} has been called. */
    public boolean isRemoved() {
        return installation.isRemoved();
    }

    /**
     * Puts the network's own layers back, after all passes through the wrappers have ended.
     *
     * @throws AmpException if it's called within a pass of the network; nothing has changed then
     */
    public void remove() {
        installation.remove();
    }
}
