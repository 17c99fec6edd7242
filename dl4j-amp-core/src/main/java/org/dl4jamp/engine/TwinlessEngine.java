package org.dl4jamp.engine;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.policy.PrecisionPlanner;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;

/** An engine that leaves every layer to DL4J, in FP32; or the place of one whose class can't be loaded. */
record TwinlessEngine(String name, Optional<String> unavailable) implements ComputeEngine {
    /** Used only if the settings name it: never chosen, nor found on the class path. */
    static final ComputeEngine DL4J = new TwinlessEngine(PrecisionPlanner.UNTOUCHED, Optional.empty());

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
        return "engine(\"" + name + "\") leaves all layers to DL4J";
    }

    @Override
    public String how(Layer layer, Precision precision) {
        return "left to DL4J";
    }

    @Override
    public EngineSession session(long largestLayer, boolean masterWeights) {
        return new EngineSession() {
            @Override
            public Twin twin(TwinRequest request) {
                throw new UnsupportedOperationException("layer \"" + request.name() + "\" is left to DL4J");
            }

            @Override
            public void close() {
                // Nothing to free.
            }
        };
    }
}
