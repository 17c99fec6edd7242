package org.dl4jamp.extension;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.Precision;

/**
 * A user's kernel for one class of layers, which the engine {@code onednn} then computes in place of DL4J. It is found
 * with {@link java.util.ServiceLoader}.
 *
 * <p>The plan names it, in training and in inference mode. The results have to be those of the class's own code: where
 * there is no such engine, or in a pause, DL4J runs that.
 *
 * <p>A class has one kernel. Neither classes that the engine computes by itself, nor wrappers, output layers and
 * recurrent layers can have a user's. Subclasses of the class have none, as they may compute anything.
 *
 * @param <L> the class of the layers' configurations
 */
public interface LayerKernel<L extends Layer> {
    /** Returns the class of the layers' configurations, not one of its subclasses. */
    Class<L> layerClass();

    /**
     * Returns why a layer has no kernel in a precision, for the plan; empty if it has one. By default there is one in
     * FLOAT only. BFLOAT16 is possible for layers that {@code lower(...)}, or their superclass, puts into half
     * precision.
     */
    default Optional<String> cannot(L layer, Precision precision) {
        return precision == Precision.FLOAT ? Optional.empty() : Optional.of("it computes in FLOAT only");
    }

    /**
     * Returns whether the layer's own code applies the input dropout of its configuration to its whole input. If so, it
     * is applied before each forward pass. If not, layers with dropout are left to DL4J.
     */
    default boolean dropsInput() {
        return false;
    }

    /** Returns an object that computes one layer of one network. */
    LayerPasses passes(L layer);
}
