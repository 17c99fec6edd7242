package org.dl4jamp.gradient;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.layer.Intervals;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The parts of a network's gradient view: gradients, from which the network learns, and numbers among them that are
 * updates already.
 */
public final class GradientParts {
    private final Map<GradientKind, Intervals> intervals = new EnumMap<>(GradientKind.class);
    private final List<UpdaterBlock.ParamState> notAddable = new ArrayList<>();

    public GradientParts(BaseMultiLayerUpdater<?> updater) {
        this(updater.getUpdaterBlocks());
    }

    /** The parts of some blocks of a network's updater. */
    public GradientParts(List<UpdaterBlock> blocks) {
        for (GradientKind kind : GradientKind.values()) {
            intervals.put(kind, new Intervals());
        }
        for (UpdaterBlock block : blocks) {
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                GradientKind kind = GradientKind.of(parameter);
                intervals.get(kind).add(parameter.getParamOffsetStart(), parameter.getParamOffsetEnd());
                if (kind == GradientKind.MEAN || kind == GradientKind.UPDATE_OF_BATCH) {
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
                GradientKind.of(first) == GradientKind.MEAN
                        ? parameter + "has an updater, and its layer's updaterDivideByMinibatch(\"" + name
                                + "\") is false: what it writes is no sum over examples, and that of several"
                                + " micro-batches isn't known."
                                + " Write a sum there and return true, take the NoOp updater for it if it's an update"
                                + " of running statistics,"
                                + " or leave accumulate out"
                        : parameter
                                + "has no gradient but an update of each batch, as the centers of"
                                + " CenterLossOutputLayer have:"
                                + " that of several micro-batches isn't their sum. Take another output layer, or"
                                + " leave accumulate out");
    }

    /** Returns the parts of an array that is as long as the view. */
    public Parted of(INDArray array) {
        List<INDArray> updates = new ArrayList<>(of(GradientKind.UPDATE, array));
        updates.addAll(of(GradientKind.UPDATE_OF_BATCH, array));
        return new Parted(this, array, of(GradientKind.SUM, array), of(GradientKind.MEAN, array), updates);
    }

    /** Returns the views of one kind of an array that is as long as the view. */
    public List<INDArray> of(GradientKind kind, INDArray array) {
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
