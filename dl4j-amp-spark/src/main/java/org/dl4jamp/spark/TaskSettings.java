package org.dl4jamp.spark;

import java.io.Serializable;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.AmpConfigJson;
import org.dl4jamp.config.CarriedConfig;
import org.dl4jamp.precision.AmpException;

/**
 * The settings that {@link SparkAmp} was given, which travel to the tasks with its hook and its listener.
 *
 * @param given null if they are in a network's configuration alone
 */
record TaskSettings(AmpConfig given) implements Serializable {
    /** Those that the network's configuration carries, or the defaults. */
    static final TaskSettings OF_THE_NETWORK = new TaskSettings(null);

    private static final String OTHER_STATE =
            ". A state goes on with other settings as new AmpState(config, state.scaler(), state.stepsTaken(),"
                    + " state.stepsSkipped(), state.consecutiveSkips(), state.iterationsWithoutStep(),"
                    + " Optional.empty())";

    /**
     * Checks on the driver that tasks can have the settings.
     *
     * @param argument the argument that they are, or are in, for messages
     * @throws AmpException if they accumulate, heal themselves, share a loss scaler, or hold code, which can't travel
     */
    static TaskSettings of(AmpConfig config, String argument) {
        requireSteps(config, argument);
        if (config.isLossScalerShared()) {
            throw new AmpException(argument + ": " + config + " has a loss scaler that networks share; tasks on Spark"
                    + " can't share one. Give lossScaler(...), of which each network has a copy");
        }
        // Refuses code.
        AmpConfigJson.text(config);
        return new TaskSettings(config);
    }

    /**
     * Refuses groups: DL4J calls no hook before it takes a task's parameters, so the rest couldn't be a step. Refuses
     * settings that change themselves: they would be others in each task.
     */
    private static void requireSteps(AmpConfig config, String argument) {
        if (config.selfHealing()) {
            throw new AmpException(argument + ": selfHealing(true) isn't for tasks on Spark: each would find out for"
                    + " itself, and forget it. Train some steps with it on one machine, and give Spark the settings"
                    + " that amp.config() has then, with toBuilder().selfHealing(false)");
        }
        if (config.accumulate() > 1) {
            throw new AmpException(argument + ": accumulate(" + config.accumulate()
                    + ") isn't for tasks on Spark: each has a network of its own, and micro-batches that wait"
                    + " when it ends would be lost. Leave it out of the settings; averaging over workers makes"
                    + " the effective batch larger already"
                    + (argument.equals("state") ? OTHER_STATE : ""));
        }
    }

    /**
     * Returns the settings of a task's network.
     *
     * @throws AmpException if these and those that its configuration carries differ, or they accumulate
     */
    AmpConfig of(Model network) {
        Optional<AmpConfig> carried = CarriedConfig.of(network);
        carried.ifPresent(config -> {
            requireSteps(config, "config");
            requireSame(config, "the network's configuration carries");
        });
        return given == null ? carried.orElseGet(AmpConfig::defaults) : given;
    }

    /**
     * Checks the settings of a network that is in mixed precision since an earlier fit.
     *
     * @throws AmpException if these differ
     */
    void requireInForce(MixedPrecision amp) {
        requireSame(amp.config(), "since an earlier fit of the same master the executor's network has");
    }

    private void requireSame(AmpConfig other, String where) {
        if (given != null && !AmpConfigJson.text(given).equals(AmpConfigJson.text(other))) {
            throw new AmpException("SparkAmp.on was given the settings " + given + ", but " + where + " " + other
                    + ". Give them in one place: SparkAmp.on(sparkContext) takes those of the configuration, and a"
                    + " configuration without MixedPrecision.configure those of SparkAmp" + OTHER_STATE);
        }
    }
}
