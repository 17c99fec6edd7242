package org.dl4jamp.onednn.vertex;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex.Op;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Resources;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.BinaryKernels;
import org.dl4jamp.onednn.twin.ChannelSums;
import org.dl4jamp.onednn.twin.RepetitionKernels;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An operation of two arrays, the whole and a part. The part has one number for all positions of a channel, such as
 * {@code [minibatch, channels, 1, 1]}, or one for all channels, such as {@code [minibatch, 1]}. All arrays are
 * channels-last.
 */
final class Broadcasting implements AutoCloseable {
    private final OneDnnContext context;
    private final String vertex;
    private final BinaryKernels operations;
    private final KernelCache<Layout, RepetitionKernels> positions = new KernelCache<>(KernelCache.SHAPES);
    private final KernelCache<Layout, ChannelSums> channels = new KernelCache<>(KernelCache.SHAPES);

    Broadcasting(OneDnnContext context, String vertex) {
        this.context = context;
        this.vertex = vertex;
        this.operations = new BinaryKernels(context);
    }

    /** Returns whether an operation is covered for two arrays of these shapes, in either order. */
    static boolean covers(Op operation, INDArray[] inputs) {
        return operation != Op.Max
                && inputs.length == 2
                && inputs[0].rank() == inputs[1].rank()
                && (isPart(inputs[0], inputs[1]) || isPart(inputs[1], inputs[0]));
    }

    /** Returns which of two arrays that are covered is the whole. */
    static int whole(INDArray[] inputs) {
        return isPart(inputs[0], inputs[1]) ? 0 : 1;
    }

    private static boolean isPart(INDArray whole, INDArray part) {
        return hasOneOfAllChannels(whole, part) || hasOneOfAllPositions(whole, part);
    }

    private static boolean hasOneOfAllChannels(INDArray whole, INDArray part) {
        boolean others = whole.size(0) == part.size(0);
        for (int axis = 2; axis < whole.rank(); axis++) {
            others &= whole.size(axis) == part.size(axis);
        }
        return others && whole.rank() > 1 && whole.size(1) > 1 && part.size(1) == 1;
    }

    private static boolean hasOneOfAllPositions(INDArray whole, INDArray part) {
        boolean single = whole.rank() > 2;
        for (int axis = 2; axis < whole.rank(); axis++) {
            single &= part.size(axis) == 1;
        }
        return single && whole.size(0) == part.size(0) && whole.size(1) == part.size(1) && whole.size(1) > 1;
    }

    /** @param after functions applied to the result */
    void forward(Op operation, List<INDArray> inputs, int whole, List<Eltwise> after, INDArray result) {
        List<Eltwise> functions = new ArrayList<>();
        if (operation == Op.Subtract && whole == 1) {
            functions.add(Eltwise.linear(-1, 0));
        }
        functions.addAll(after);
        operations.run(vertex, algorithm(operation), inputs.get(whole), inputs.get(1 - whole), functions, result);
    }

    private static dnnl.algorithm algorithm(Op operation) {
        return switch (operation) {
            case Subtract -> dnnl.algorithm.binary_sub;
            case Product -> dnnl.algorithm.binary_mul;
            default -> dnnl.algorithm.binary_add;
        };
    }

    /**
     * Multiplies an array of the whole's shape by another one or by the part.
     *
     * @param result of the array's type: oneDNN is a thousand times slower with another; may be the array itself
     */
    void multiply(INDArray array, INDArray part, INDArray result) {
        operations.run(vertex, dnnl.algorithm.binary_mul, array, part, List.of(), result);
    }

    /**
     * Adds up what a number of the part is used for.
     *
     * @param above of the whole's shape
     * @param sums FP32, of the part's shape
     */
    void sum(INDArray above, double factor, INDArray sums) {
        Layout fine = Layout.of(above);
        if (hasOneOfAllChannels(above, sums)) {
            channels.get(fine, () -> ChannelSums.make(context, vertex, fine)).run(above, sums);
        } else {
            positions
                    .get(fine, () -> RepetitionKernels.make(context, vertex, Layout.of(sums), fine))
                    .sum(above, sums);
        }
        if (factor != 1) {
            Workspaces.contiguous(sums).muli(factor);
        }
    }

    @Override
    public void close() {
        Resources.close(operations);
        positions.close();
        channels.close();
    }
}
