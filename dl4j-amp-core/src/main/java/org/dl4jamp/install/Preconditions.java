package org.dl4jamp.install;

import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.dl4jamp.gradient.NonFiniteSource;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Refuses networks that mixed precision or inference mode cannot be switched on for. */
final class Preconditions {
    private Preconditions() {}

    /** @param trains whether the network is to be trained; else it's to infer only */
    static void check(AmpNetwork network, boolean trains) {
        checkParameters(network, trains ? "train" : "round");
        OptimizationAlgorithm algorithm = network.model().conf().getOptimizationAlgo();
        if (trains && algorithm != OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT) {
            throw new AmpException("network: its optimization algorithm is " + algorithm
                    + ", which evaluates a step several times, so that none"
                    + " can be skipped; use STOCHASTIC_GRADIENT_DESCENT (any updater, such as Adam, goes with it)");
        }
        checkIsFree(network);
        checkFinite(network);
    }

    private static void checkParameters(AmpNetwork network, String purpose) {
        if (!network.isInitialized()) {
            throw new AmpException("network: it isn't initialized; call init() first");
        }
        // DL4J 1.0.0-M1.1 has null for no parameters.
        INDArray parameters = network.model().params();
        if (parameters != null && parameters.wasClosed()) {
            throw new AmpException(
                    "network: it is closed, and its parameters are gone; load it, or init() another one");
        }
        if (parameters == null || network.model().numParams() == 0) {
            throw new AmpException("network: it has no parameters, so there is nothing to " + purpose);
        }
        DataType type = parameters.dataType();
        if (type != DataType.FLOAT) {
            throw new AmpException(
                    "network: its parameters are " + type + ", but master weights have to be FLOAT; configure it with"
                            + " dataType(DataType.FLOAT), or convert it with convertDataType(DataType.FLOAT)");
        }
    }

    private static void checkIsFree(AmpNetwork network) {
        if (EnabledNetwork.ownerOf(network).isPresent()) {
            throw new AmpException(
                    "network: mixed precision is enabled on it already; use MixedPrecision.of(network), or close() it"
                            + " first to enable it with other settings, or for inference mode");
        }
        if (InferenceInstallation.ownerOf(network).isPresent()) {
            throw new AmpException(
                    "network: it is in inference mode; use InferenceMode.of(network), or close() it first"
                            + " to enter it with other settings, or to enable mixed precision for training");
        }
    }

    /** Refuses NaN and infinity: activation functions of an engine may hide them, and outputs would then look right. */
    private static void checkFinite(AmpNetwork network) {
        NonFiniteSource.firstNonFinite(network.model().params()).ifPresent(somewhere -> {
            String named = network.model().paramTable().entrySet().stream()
                    .flatMap(parameter -> NonFiniteSource.firstNonFinite(parameter.getValue()).stream()
                            .map(where -> "its parameter \"" + parameter.getKey() + "\" contains " + where))
                    .findFirst()
                    .orElse("params() contain " + somewhere);
            throw new AmpException("network: " + named + "; load a model saved before its training diverged, or init()"
                    + " it again and train with a lower learning rate or clipped gradients");
        });
    }
}
