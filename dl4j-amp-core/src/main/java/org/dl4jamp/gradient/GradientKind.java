package org.dl4jamp.gradient;

import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.params.CenterLossParamInitializer;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.nd4j.linalg.learning.config.NoOp;

/**
 * The kinds of numbers in a network's gradient view. DL4J tells them by two things: whether it divides a parameter's by
 * the minibatch ({@code updaterDivideByMinibatch}), and which updater the parameter has. Gradients are learned from,
 * clipped, and count in the norm; updates are not.
 */
public enum GradientKind {
    /** A gradient that is a sum over examples. DL4J divides it by the minibatch. */
    SUM,
    /** A gradient that DL4J takes as it is: its layer has done what there is to do. */
    MEAN,
    /** An update of one batch, which DL4J divides by the minibatch and subtracts: that of center loss's centers. */
    UPDATE_OF_BATCH,
    /** An update, which DL4J subtracts as it is: that of batch normalization's running statistics. */
    UPDATE;

    /** Returns the kind of a parameter's. */
    public static GradientKind of(UpdaterBlock.ParamState parameter) {
        TrainingConfig layer = parameter.getLayer().getConfig();
        String name = parameter.getParamName();
        boolean divides = parameter.getLayer().updaterDivideByMinibatch(name);
        if (!(layer.getUpdaterByParam(name) instanceof NoOp)) {
            return divides ? SUM : MEAN;
        }
        if (!divides) {
            return UPDATE;
        }
        // A user may configure that gradients are subtracted as they are. A layer that always does so makes updates
        // itself.
        return isCenter(layer, name) || (layer instanceof BaseLayer base && !isSetToNoOp(base, name))
                ? UPDATE_OF_BATCH
                : SUM;
    }

    private static boolean isCenter(TrainingConfig layer, String name) {
        return layer instanceof CenterLossOutputLayer && name.equals(CenterLossParamInitializer.CENTER_KEY);
    }

    private static boolean isSetToNoOp(BaseLayer layer, String name) {
        // Center loss has the updater of weights for its bias, too.
        boolean ownOfBiases = layer.getBiasUpdater() != null
                && layer.initializer().isBiasParam(layer, name)
                && !(layer instanceof CenterLossOutputLayer);
        return (ownOfBiases ? layer.getBiasUpdater() : layer.getIUpdater()) instanceof NoOp;
    }
}
