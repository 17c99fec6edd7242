package org.dl4jamp.heal;

import java.util.function.Consumer;
import java.util.function.Supplier;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.install.EnabledNetwork;
import org.dl4jamp.install.Healer;
import org.dl4jamp.step.StepObservers;

/** Heals the networks whose settings ask for it. */
public final class SelfHealing implements Healer {
    @Override
    public void begin(Supplier<EnabledNetwork> enabled, Consumer<AmpConfig> change) {
        Healing healing = new Healing(enabled, change);
        StepObservers observers = enabled.get().step().observers();
        observers.onSkip((skip, iteration) -> healing.skipped(skip));
        observers.atIterationEnd(healing::iterationEnds);
    }
}
