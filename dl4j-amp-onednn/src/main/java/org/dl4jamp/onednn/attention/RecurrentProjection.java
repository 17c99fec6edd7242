package org.dl4jamp.onednn.attention;

import java.util.List;
import java.util.stream.Stream;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Resources;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.BlockProduct;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The products that project keys and values of all time steps, and queries and the output of the heads of one, with
 * their gradients. Those of the later time steps' weights are null if there is one time step.
 */
final class RecurrentProjection implements AutoCloseable {
    final Kernel keys;
    final Kernel query;
    final Kernel attended;
    final Kernel attendedBackward;
    final Kernel queryBackward;
    final Kernel inputGradient;
    final Kernel keyWeights;
    final Kernel queryWeights;
    final Kernel outputWeights;
    private final List<Kernel> kernels;

    /**
     * Makes it, to be called within {@link OneDnnContext#make}.
     *
     * @param width the size of a row of all heads
     */
    RecurrentProjection(OneDnnContext context, String what, DataType type, SequenceShape shape, long width) {
        long rows = shape.rows();
        long units = shape.units();
        Layout x = Layout.dense(type, rows, shape.nIn());
        Layout keyRows = Layout.dense(type, rows, 2 * width);
        Layout ofKeys = Layout.dense(type, 2 * width, shape.nIn());
        Layout ofQuery = Layout.dense(type, width, units);
        Layout ofOutput = Layout.dense(type, width, units);
        Layout step = Layout.dense(type, shape.minibatch(), units);
        Layout heads = Layout.dense(type, shape.minibatch(), width);
        keys = new BlockProduct(x, turned(ofKeys), keyRows).kernel(context, what);
        query = new BlockProduct(step, turned(ofQuery), heads).kernel(context, what);
        attended = new BlockProduct(heads, ofOutput, step).kernel(context, what);
        attendedBackward = new BlockProduct(step, turned(ofOutput), heads).kernel(context, what);
        queryBackward = new BlockProduct(heads, ofQuery, step.as(DataType.FLOAT))
                .adding(true)
                .kernel(context, what);
        inputGradient = new BlockProduct(keyRows, ofKeys, x.as(DataType.FLOAT))
                .adding(true)
                .kernel(context, what);
        keyWeights = new BlockProduct(turned(keyRows), x, ofKeys.as(DataType.FLOAT)).kernel(context, what);
        if (shape.steps() > 1) {
            Layout laterSteps = Layout.dense(type, rows - shape.minibatch(), units);
            Layout laterHeads = Layout.dense(type, rows - shape.minibatch(), width);
            queryWeights =
                    new BlockProduct(turned(laterHeads), laterSteps, ofQuery.as(DataType.FLOAT)).kernel(context, what);
            outputWeights =
                    new BlockProduct(turned(laterHeads), laterSteps, ofOutput.as(DataType.FLOAT)).kernel(context, what);
        } else {
            queryWeights = null;
            outputWeights = null;
        }
        kernels = Stream.of(
                        keys,
                        query,
                        attended,
                        attendedBackward,
                        queryBackward,
                        inputGradient,
                        keyWeights,
                        queryWeights,
                        outputWeights)
                .filter(kernel -> kernel != null)
                .toList();
    }

    private static Layout turned(Layout matrix) {
        return matrix.permuted(1, 0);
    }

    @Override
    public void close() {
        kernels.forEach(Resources::close);
    }
}
