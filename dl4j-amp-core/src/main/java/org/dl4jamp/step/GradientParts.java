package org.dl4jamp.step;

import java.util.List;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a network's gradient view consists of: sums over examples, which the network learns from, and what travels among them and is an update already, such as those
 * of batch normalization's running statistics.
 */
final class GradientParts {
    private final Intervals sums = new Intervals();
    private final Intervals updates = new Intervals();

    /**
     * The parts of a network.
     *
     * @param updater the network's
     */
    GradientParts(BaseMultiLayerUpdater<?> updater) {
        for (UpdaterBlock block : updater.getUpdaterBlocks()) {
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                Intervals part = isSum(parameter) ? sums : updates;
                part.add(parameter.getParamOffsetStart(), parameter.getParamOffsetEnd());
            }
        }
    }

    /** Whether DL4J divides the gradient by the minibatch. */
    static boolean isSum(UpdaterBlock.ParamState parameter) {
        return parameter.getLayer().updaterDivideByMinibatch(parameter.getParamName());
    }

    /** The parts of an array that is as long as the view. */
    Parted of(INDArray array) {
        return new Parted(array, sums.of(array), updates.of(array));
    }

    /**
     * An array of a number for each parameter.
     *
     * @param all the array
     * @param sums views of what is learned from
     * @param updates views of the rest
     */
    record Parted(INDArray all, List<INDArray> sums, List<INDArray> updates) {}
}
