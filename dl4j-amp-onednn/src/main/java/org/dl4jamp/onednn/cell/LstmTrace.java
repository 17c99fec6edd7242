package org.dl4jamp.onednn.cell;

import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The trace of an LSTM's forward pass time step by time step: the factors of gradients, which don't depend on the
 * gradients. They are in the layer's type. Only factors from one memory cell to the one before are FP32: they multiply
 * each other in all time steps, and rounding makes an open gate shut slowly.
 *
 * @param gates of each gate's sums, {@code [steps, gates, minibatch * units]}: of the output's gradient for the output
 *     gate, of the memory cell's gradient for the others
 * @param ofOutputs from the output's gradient to the memory cell's, {@code [steps, minibatch * units]}
 * @param ofMemories FLOAT, from a memory cell's gradient to that of the one before, {@code [steps, minibatch * units]}
 * @param memories the memory cells, {@code [steps + 1, minibatch * units]}, the initial state in front; null unless
 *     weights are multiplied by them
 * @param outputs {@code [steps + 1, minibatch, units]}
 * @param last the state after the last time step
 */
record LstmTrace(
        SequenceShape shape,
        INDArray gates,
        INDArray ofOutputs,
        INDArray ofMemories,
        INDArray memories,
        INDArray outputs,
        RecurrentState last)
        implements RecurrentCell.Trace {
    Slab ofGate(int gate, long time) {
        return Slab.of(gates).plus((time * shape.gates() + gate) * shape.block());
    }

    Slab ofOutput(long time) {
        return Slab.of(ofOutputs).plus(time * shape.block());
    }

    Slab ofMemory(long time) {
        return Slab.of(ofMemories).plus(time * shape.block());
    }
}
