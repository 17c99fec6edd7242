package org.dl4jamp.dl4j;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationLReLU;

/** The functions that DL4J's recurrent attention computes in SameDiff, as ND4J's activation functions. */
public final class RecurrentAttentionFunctions {
    private RecurrentAttentionFunctions() {}

    /** Returns a layer's; empty for one that SameDiff hasn't, for which DL4J throws. */
    public static Optional<IActivation> of(RecurrentAttentionLayer layer) {
        Activation function = layer.getActivation();
        return switch (function) {
            case CUBE, ELU, GELU, HARDTANH, IDENTITY, RELU, SIGMOID, SOFTMAX, SOFTPLUS, SOFTSIGN, TANH ->
                Optional.of(function.getActivationFunction());
            // SameDiff's has no slope to the left.
            case LEAKYRELU -> Optional.of(new ActivationLReLU(0));
            default -> Optional.empty();
        };
    }
}
