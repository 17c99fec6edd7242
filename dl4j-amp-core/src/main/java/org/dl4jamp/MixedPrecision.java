package org.dl4jamp;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.scale.LossScaler;

/** SKELETON: signatures that the other modules may rely on; the implementation is under way. */
public final class MixedPrecision implements AutoCloseable {
    private MixedPrecision() {}

    public static MixedPrecision enable(MultiLayerNetwork network) {
        throw new UnsupportedOperationException();
    }

    public static MixedPrecision enable(MultiLayerNetwork network, AmpConfig config) {
        throw new UnsupportedOperationException();
    }

    public static MixedPrecision enable(ComputationGraph network) {
        throw new UnsupportedOperationException();
    }

    public static MixedPrecision enable(ComputationGraph network, AmpConfig config) {
        throw new UnsupportedOperationException();
    }

    /** Goes on in mixed precision from a state that was saved: with its settings, scaler and counters. */
    public static MixedPrecision enable(MultiLayerNetwork network, AmpState state) {
        throw new UnsupportedOperationException();
    }

    /** Goes on in mixed precision from a state that was saved: with its settings, scaler and counters. */
    public static MixedPrecision enable(ComputationGraph network, AmpState state) {
        throw new UnsupportedOperationException();
    }

    public static Optional<MixedPrecision> of(Model network) {
        return Optional.empty();
    }

    public static MultiLayerConfiguration configure(MultiLayerConfiguration configuration, AmpConfig config) {
        throw new UnsupportedOperationException();
    }

    public static ComputationGraphConfiguration configure(ComputationGraphConfiguration configuration, AmpConfig config) {
        throw new UnsupportedOperationException();
    }

    public static MultiLayerNetwork network(MultiLayerConfiguration configuration) {
        throw new UnsupportedOperationException();
    }

    public static ComputationGraph network(ComputationGraphConfiguration configuration) {
        throw new UnsupportedOperationException();
    }

    /** The settings in force. */
    public AmpConfig config() {
        throw new UnsupportedOperationException();
    }

    public PrecisionPlan plan() {
        throw new UnsupportedOperationException();
    }

    /** The precision of the layers in lower precision, AUTO resolved. */
    public Precision precision() {
        throw new UnsupportedOperationException();
    }

    /** The name of the engine in use, auto resolved. */
    public String engine() {
        throw new UnsupportedOperationException();
    }

    public LossScaler lossScaler() {
        throw new UnsupportedOperationException();
    }

    public double lossScale() {
        throw new UnsupportedOperationException();
    }

    public long stepsTaken() {
        throw new UnsupportedOperationException();
    }

    public long stepsSkipped() {
        throw new UnsupportedOperationException();
    }

    /** Everything beside the network that going on later needs. */
    public AmpState state() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
