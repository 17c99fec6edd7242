package org.dl4jamp.engine.nd4j;

import java.util.Set;
import java.util.function.Predicate;
import org.deeplearning4j.nn.conf.layers.*;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.*;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.dl4jamp.policy.LayerTable;
import org.dl4jamp.twin.Twin.Retention;

/**
 * Tells what DL4J's layers need of their forward pass in the backward pass. Most read their input again and compute the
 * rest anew, so that the wrapper can keep that input in half precision. Those listed here, and users' classes, get the
 * FP32 array of the forward pass back.
 */
final class BackwardNeeds {
    private static final Set<Class<? extends Layer>> MORE_THAN_INPUT = Set.of(
            AutoEncoder.class,
            CapsuleLayer.class,
            CapsuleStrengthLayer.class,
            CenterLossOutputLayer.class,
            FrozenLayer.class,
            FrozenLayerWithBackprop.class,
            LastTimeStep.class,
            OCNNOutputLayer.class,
            PrimaryCapsules.class,
            SameDiffOutputLayer.class,
            TimeDistributed.class,
            VariationalAutoencoder.class,
            Yolo2OutputLayer.class);

    private BackwardNeeds() {}

    /**
     * Returns what the wrapper has to keep for a layer. One that applies its input dropout itself, which isn't lifted,
     * needs the array that it masked. One with weight noise needs its input: DL4J keeps the noisy weights with it.
     */
    static Retention of(Layer layer, boolean dropoutLifted) {
        boolean masksInput = !dropoutLifted && isAny(layer, each -> each.getIDropout() != null && !isEmbedding(each));
        return readsInputOnly(layer.getClass()) && !masksInput && !isAny(layer, BackwardNeeds::hasWeightNoise)
                ? Retention.INPUT
                : Retention.CAST_INPUT;
    }

    static boolean readsInputOnly(Class<?> type) {
        return LayerTable.lists(type) && !MORE_THAN_INPUT.contains(type);
    }

    static boolean hasWeightNoise(Layer layer) {
        return layer instanceof BaseLayer base && base.getWeightNoise() != null;
    }

    /** Tests the layers within a layer that wraps others, or else the layer itself. */
    private static boolean isAny(Layer layer, Predicate<Layer> test) {
        if (layer instanceof BaseWrapperLayer wrapper) {
            return isAny(wrapper.getUnderlying(), test);
        }
        if (layer instanceof Bidirectional bidirectional) {
            return isAny(bidirectional.getFwd(), test) || isAny(bidirectional.getBwd(), test);
        }
        return test.test(layer);
    }

    /** Returns whether a layer is an embedding: DL4J's ignore their dropout. */
    static boolean isEmbedding(Layer layer) {
        return layer instanceof EmbeddingLayer || layer instanceof EmbeddingSequenceLayer;
    }
}
