package org.dl4jamp.policy;

import java.util.Optional;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.Precision;

/**
 * An engine's abilities without its fusions of training: inference has groups of its own.
 *
 * @param engine the engine
 */
public record WithoutFusions(EngineAbility engine) implements EngineAbility {
    @Override
    public String name() {
        return engine.name();
    }

    @Override
    public Optional<String> cannot(Layer layer, Precision precision) {
        return engine.cannot(layer, precision);
    }

    @Override
    public boolean computesFloat() {
        return engine.computesFloat();
    }

    @Override
    public boolean computes(GraphVertex vertex, Precision precision) {
        return engine.computes(vertex, precision);
    }

    @Override
    public boolean sums(Layer layer) {
        return engine.sums(layer);
    }

    @Override
    public boolean keepsLossInFloat(Layer output, Precision precision) {
        return engine.keepsLossInFloat(output, precision);
    }

    @Override
    public String how(Layer layer, Precision precision) {
        return engine.how(layer, precision);
    }
}
