package org.dl4jamp.gradient;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.params.CenterLossParamInitializer;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.layer.Intervals;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.NoOp;

/**
 * The parts of a network's gradient view: gradients, from which the network learns, and numbers among them that are
 * updates already.
 */
public final class GradientParts {
    /**
     * The kinds of numbers in a network's gradient view. DL4J tells them by two things: whether it divides a
     * parameter's by the minibatch ({@code updaterDivideByMinibatch}), and which updater the parameter has. Gradients
     * are learned from, clipped, and count in the norm; updates are not.
     */
    public enum Kind {
        /** A gradient that is a sum over examples. DL4J divides it by the minibatch. */
        SUM,
        /** A gradient that DL4J takes as it is: its layer has done what there is to do. */
        MEAN,
        /** An update of one batch, which DL4J divides by the minibatch and subtracts: that of center loss's centers. */
        UPDATE_OF_BATCH,
        /** An update, which DL4J subtracts as it is: that of batch normalization's running statistics. */
        UPDATE;

        /** Returns the kind of a parameter's. */
        public static Kind of(UpdaterBlock.ParamState parameter) {
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

    private final Map<Kind, Intervals> intervals = new EnumMap<>(Kind.class);
    private final List<UpdaterBlock.ParamState> notAddable = new ArrayList<>();

    /** @param blocks some or all blocks of a network's updater */
    public GradientParts(List<UpdaterBlock> blocks) {
        for (Kind kind : Kind.values()) {
            intervals.put(kind, new Intervals());
        }
        for (UpdaterBlock block : blocks) {
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                Kind kind = Kind.of(parameter);
                intervals.get(kind).add(parameter.getParamOffsetStart(), parameter.getParamOffsetEnd());
                if (kind == Kind.MEAN || kind == Kind.UPDATE_OF_BATCH) {
                    notAddable.add(parameter);
                }
            }
        }
    }

    /**
     * Refuses to add up what several micro-batches write, if it can't be combined into that of their whole batch.
     * Throws an {@link AmpException} that names the first such parameter.
     */
    public void requireAddable(int microBatches) {
        if (notAddable.isEmpty()) {
            return;
        }
        UpdaterBlock.ParamState first = notAddable.get(0);
        String name = first.getParamName();
        String parameter = "accumulate(" + microBatches + "): parameter \"" + name + "\" of layer \""
                + first.getLayer().getConfig().getLayerName() + "\" ";
        throw new AmpException(
                Kind.of(first) == Kind.MEAN
                        ? parameter + "has an updater, and its layer's updaterDivideByMinibatch(\"" + name
                                + "\") is false: what it writes is no sum over examples, and that of several"
                                + " micro-batches isn't known. Write a sum there and return true, take the NoOp"
                                + " updater for it if it's an update of running statistics, or leave accumulate out"
                        : parameter
                                + "has no gradient but an update of each batch, as the centers of"
                                + " CenterLossOutputLayer have: that of several micro-batches isn't their sum."
                                + " Take another output layer, or leave accumulate out");
    }

    /** Returns the parts of an array that is as long as the view. */
    public Parted of(INDArray array) {
        List<INDArray> updates = new ArrayList<>(of(Kind.UPDATE, array));
        updates.addAll(of(Kind.UPDATE_OF_BATCH, array));
        return new Parted(this, array, of(Kind.SUM, array), of(Kind.MEAN, array), updates);
    }

    /** Returns the views of one kind of an array that is as long as the view. */
    public List<INDArray> of(Kind kind, INDArray array) {
        return intervals.get(kind).of(array);
    }

    /**
     * An array of a number for each parameter.
     *
     * @param parts its parts
     * @param all the array
     * @param sums views of the gradients that are sums over examples
     * @param means views of the gradients that aren't divided by anything; most networks have none
     * @param updates views of the rest
     */
    public record Parted(
            GradientParts parts, INDArray all, List<INDArray> sums, List<INDArray> means, List<INDArray> updates) {
        /** Makes zeros of all gradients. */
        public void clearGradients() {
            sums.forEach(sum -> sum.assign(0));
            means.forEach(mean -> mean.assign(0));
        }

        /**
         * Returns the Euclidean norm of the gradients: finite if, and only if, they all are.
         *
         * @param divisor the divisor that makes means of the sums
         */
        public double norm(StepKernels kernels, double divisor) {
            double norm = kernels.norm2(sums) / divisor;
            return means.isEmpty() ? norm : Math.hypot(norm, kernels.norm2(means));
        }
    }
}
