package org.dl4jamp.onednn.linear;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.ResultPlace;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.GroupSum;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The group of layers that the forward pass of a product layer computes in inference; of that layer alone at first. */
final class LedGroup {
    private final OneDnnContext context;
    private final DataType type;
    private final ChannelAxis channels;
    private GroupSum sum;
    private ResultPlace place;

    /** @param channels the axis of the layer's arrays that holds the channels */
    LedGroup(OneDnnContext context, DataType type, ChannelAxis channels) {
        this.context = context;
        this.type = type;
        this.channels = channels;
    }

    /** Sets the summand before the activation function; null for none. */
    void lead(GroupSum added) {
        sum = added;
    }

    /** Sets where the result may go, which is a workspace of DL4J's otherwise. */
    void placeOutput(ResultPlace output) {
        place = output;
    }

    /** Returns whether the product's kernels are to add something. */
    boolean adds() {
        return sum != null;
    }

    /** Returns the place of the output, its channels as the second axis and last in memory. */
    INDArray output(long[] shape, LayerWorkspaceMgr workspaceMgr) {
        return place == null
                ? Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, type, shape)
                : place.channelsLast(type, workspaceMgr, shape);
    }

    /**
     * Runs the forward pass up to the sum, with it if the other summand is there.
     *
     * @return in the order of the kernels; the summand's own memory if nothing reads that any more
     */
    INDArray forward(ProductKernels kernels, INDArray x, INDArray bias, LayerWorkspaceMgr workspaceMgr) {
        long[] shape = kernels.outputShape();
        INDArray summand = sum.other(channels.fromSecond(shape));
        if (summand == null) {
            INDArray output = output(shape, workspaceMgr);
            kernels.forwardPlain(x, bias, output);
            return output;
        }
        INDArray other = channels.toSecond(summand);
        if (sum.endsSummand()
                && Layout.channelsLast(type, shape).isThatOf(other)
                && context.activationMemory().holds(other)) {
            kernels.forwardInPlace(x, bias, other);
            sum.made();
            return other;
        }
        INDArray output = output(shape, workspaceMgr);
        INDArray added = context.copies().channelsLast(other, type, workspaceMgr, ArrayType.FF_WORKING_MEM);
        kernels.forwardAdding(x, bias, added, output);
        sum.made();
        return output;
    }
}
