package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Runs a twin forward: settles its input, refreshes its weights, applies dropout, computes, and casts the result to the
 * output type.
 */
final class ForwardPass {
    /** One way of running the twin forward, on the input that has been set. */
    interface Computation {
        INDArray run(LayerWorkspaceMgr workspaceMgr);
    }

    private final Twin twin;
    private final DataType output;
    private final LayerContext surroundings;
    private final KeptInput input;
    private final TwinDropout dropout;

    /** @param output the type of the activations that are returned */
    ForwardPass(Twin twin, DataType output, LayerContext surroundings, KeptInput input, TwinDropout dropout) {
        this.twin = twin;
        this.output = output;
        this.surroundings = surroundings;
        this.input = input;
        this.dropout = dropout;
    }

    INDArray run(boolean training, LayerWorkspaceMgr workspaceMgr, Computation computation) {
        LayerWorkspaceMgr inner = begin(training, workspaceMgr, output != twin.outputType());
        INDArray activations = twin.casting().cast(computation.run(inner), output, workspaceMgr, ArrayType.ACTIVATIONS);
        return surroundings.foreignConsumer()
                ? twin.casting().usualOrder(activations, workspaceMgr, ArrayType.ACTIVATIONS)
                : activations;
    }

    /**
     * Has the network's own layer compute, in FP32 and with its own parameters, in a pass that isn't a step's.
     *
     * @param computation runs the master forward
     */
    INDArray runMaster(Layer master, boolean training, LayerWorkspaceMgr workspaceMgr, Computation computation) {
        input.settle(workspaceMgr, ArrayType.FF_WORKING_MEM);
        LayerWorkspaceMgr inner = input.handToMaster(workspaceMgr, training, output != DataType.FLOAT);
        INDArray mask = master.getMaskArray();
        if (mask != null && twin.outputType() != DataType.FLOAT) {
            master.setMaskArray(mask.castTo(DataType.FLOAT));
        }
        return twin.casting().cast(computation.run(inner), output, workspaceMgr, ArrayType.ACTIVATIONS);
    }

    /** Sets the twin's input and weights for a score, which is computed outside of forward and backward pass. */
    LayerWorkspaceMgr beginScore(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return begin(training, workspaceMgr, false);
    }

    private LayerWorkspaceMgr begin(boolean training, LayerWorkspaceMgr workspaceMgr, boolean castsOut) {
        input.settle(workspaceMgr, ArrayType.FF_WORKING_MEM);
        twin.weights().refresh();
        if (training) {
            dropout.apply(input, workspaceMgr, ArrayType.FF_WORKING_MEM);
        }
        return input.handToTwin(workspaceMgr, ArrayType.FF_WORKING_MEM, castsOut, ArrayType.ACTIVATIONS);
    }
}
