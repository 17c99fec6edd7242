package org.dl4jamp.engine;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.Precision;
import org.dl4jamp.engine.nd4j.Nd4jEngine;

/** Leaves every layer to DL4J, in FP32: what the plan's column says of single layers, asked for by name. Not found on the class path, and never chosen. */
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

    /** The portable engine's, of which nothing is asked but what belongs to no layer. */
    @Override
    public EngineSession session(long largestLayer, boolean masterWeights) {
        return new Nd4jEngine().session(largestLayer, masterWeights);
    }
}
