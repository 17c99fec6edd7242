package org.dl4jamp.inspect.compare.data;

import java.util.Optional;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossBinaryXENT;
import org.nd4j.linalg.lossfunctions.impl.LossHinge;
import org.nd4j.linalg.lossfunctions.impl.LossKLD;
import org.nd4j.linalg.lossfunctions.impl.LossMAPE;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossMSLE;
import org.nd4j.linalg.lossfunctions.impl.LossPoisson;
import org.nd4j.linalg.lossfunctions.impl.LossSparseMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossSquaredHinge;

/**
 * The labels that an output of a network takes.
 *
 * @param kind the kind of numbers
 * @param channelsLast whether classes are the last axis of sequences and images, and not the second one
 */
record Targets(Kind kind, boolean channelsLast) {
    enum Kind {
        /** A one among zeros. */
        ONE_HOT,
        /** The number of the class, in place of a one among zeros. */
        CLASS_NUMBER,
        /** Zeros and ones. */
        BITS,
        /** One and minus one. */
        SIGNS,
        /** Numbers larger than zero. */
        POSITIVE,
        /** Any numbers. */
        NUMBERS
    }

    /**
     * Returns what an output takes.
     *
     * @throws AmpException if its labels don't have its output's shape
     */
    static Targets of(NetworkGraph.Node output) {
        Layer layer = output.layers().isEmpty()
                ? null
                : output.layers().get(output.layers().size() - 1);
        if (layer instanceof Yolo2OutputLayer) {
            throw new AmpException("output \"" + output.name() + "\": labels of a Yolo2OutputLayer, which are boxes,"
                    + " can't be made or read here; compare the network in a program with Comparison.run");
        }
        return new Targets(kind(loss(layer), activation(layer)), channelsLast(layer));
    }

    private static Kind kind(Optional<ILossFunction> loss, Optional<IActivation> activation) {
        if (loss.filter(LossSparseMCXENT.class::isInstance).isPresent()) {
            return Kind.CLASS_NUMBER;
        }
        if (loss.filter(of -> of instanceof LossHinge || of instanceof LossSquaredHinge)
                .isPresent()) {
            return Kind.SIGNS;
        }
        if (loss.filter(of -> of instanceof LossPoisson || of instanceof LossMSLE || of instanceof LossMAPE)
                .isPresent()) {
            return Kind.POSITIVE;
        }
        if (activation.filter(ActivationSoftmax.class::isInstance).isPresent()
                || loss.filter(of -> of instanceof LossMCXENT || of instanceof LossKLD)
                        .isPresent()) {
            return Kind.ONE_HOT;
        }
        boolean bits = activation.filter(ActivationSigmoid.class::isInstance).isPresent()
                || loss.filter(LossBinaryXENT.class::isInstance).isPresent();
        return bits ? Kind.BITS : Kind.NUMBERS;
    }

    private static Optional<IActivation> activation(Layer layer) {
        return layer instanceof BaseLayer base ? Optional.ofNullable(base.getActivationFn()) : Optional.empty();
    }

    private static Optional<ILossFunction> loss(Layer layer) {
        if (layer instanceof BaseOutputLayer output) {
            return Optional.ofNullable(output.getLossFn());
        }
        if (layer instanceof LossLayer output) {
            return Optional.ofNullable(output.getLossFn());
        }
        if (layer instanceof RnnLossLayer output) {
            return Optional.ofNullable(output.getLossFn());
        }
        return layer instanceof CnnLossLayer output ? Optional.ofNullable(output.getLossFn()) : Optional.empty();
    }

    private static boolean channelsLast(Layer layer) {
        if (layer instanceof RnnOutputLayer sequence) {
            return sequence.getRnnDataFormat() == RNNFormat.NWC;
        }
        if (layer instanceof RnnLossLayer sequence) {
            return sequence.getRnnDataFormat() == RNNFormat.NWC;
        }
        return layer instanceof CnnLossLayer image && image.getFormat() == CNN2DFormat.NHWC;
    }

    /** Returns the axis of the classes in labels of a rank. */
    int axis(int rank) {
        return channelsLast ? rank - 1 : 1;
    }
}
