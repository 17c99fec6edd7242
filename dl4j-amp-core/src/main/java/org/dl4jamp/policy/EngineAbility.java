package org.dl4jamp.policy;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.Precision;

/** What the planner needs to know of a compute engine. */
public interface EngineAbility {
    /** The engine's name, as it appears in the plan. */
    String name();

    /**
     * Why the engine can't compute a layer in a precision.
     *
     * @return empty if it can
     */
    Optional<String> cannot(Layer layer, Precision precision);

    /**
     * How the engine computes a layer that it can, for the plan's last column, such as {@code products in FP32}.
     */
    String how(Layer layer, Precision precision);
}
