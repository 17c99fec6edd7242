package org.dl4jamp.engine;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;

/**
 * Leaves every layer to DL4J, in FP32. Used only if the settings name it: never chosen, nor found on the class path.
 */
final class Dl4jEngine implements ComputeEngine {
    /** Name of this engine, and what a plan calls the engine of a layer that is left as it is. */
    static final String NAME = "dl4j";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<String> cannot(Precision precision) {
        return precision.isHalf()
                ? Optional.of("it leaves all layers to DL4J, which computes in FP32")
                : Optional.empty();
    }

    @Override
    public Optional<String> cannot(Layer layer, Precision precision) {
        return cannot(precision);
    }

    @Override
    public Precision automaticPrecision() {
        return Precision.FLOAT;
    }

    @Override
    public String automaticReason() {
        return "engine(\"dl4j\") leaves all layers to DL4J";
    }

    @Override
    public String how(Layer layer, Precision precision) {
        return "left to DL4J";
    }

    @Override
    public EngineSession session(long largestLayer, boolean masterWeights) {
        return new WithoutTwins();
    }

    /** Casts, and checks gradients, with ND4J's operations. A plan of this engine has no layer of its own. */
    private static final class WithoutTwins implements EngineSession {
        @Override
        public Twin twin(TwinRequest request) {
            throw new UnsupportedOperationException("layer \"" + request.name() + "\" is left to DL4J");
        }

        @Override
        public void close() {
            // Nothing to free.
        }
    }
}
