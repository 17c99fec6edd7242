package org.dl4jamp.onednn.cell;

import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The trace of a forward pass time step by time step: FLOAT, or in the layer's type without the values. If nothing is
 * kept, memory cells have room for two time steps only.
 *
 * @param sums before the functions, {@code [gates, steps * minibatch * units]}
 * @param values after them, of all time steps or of one; the same array if nothing needs the sums
 * @param memories c of an LSTM, {@code [steps + 1, minibatch * units]}, the initial state in front; null without
 * @param activatedMemories the activation function of c before it was masked, {@code [steps, minibatch * units]}
 * @param outputs {@code [steps + 1, minibatch, units]}
 * @param output FLOAT room for the outputs of one time step, {@code [1, minibatch * units]}; null without
 * @param last the state after the last time step; null until then
 */
record StepTrace(
        SequenceShape shape,
        INDArray sums,
        INDArray values,
        INDArray memories,
        INDArray activatedMemories,
        INDArray outputs,
        INDArray output,
        RecurrentState last)
        implements RecurrentCell.Trace {

    /** Returns a gate's sums at a time step. */
    Slab sum(int gate, long time) {
        return at(sums, gate, time);
    }

    Slab value(int gate, long time) {
        return at(values, gate, time);
    }

    /** Returns a gate at a time step, in an array of all time steps or of one only. */
    private Slab at(INDArray array, int gate, long time) {
        long length = array.size(1);
        return new Slab(array, gate * length + time * shape.block() % length);
    }

    /** Returns c before a time step. */
    Slab memory(long time) {
        return Slab.of(memories).plus(time % memories.size(0) * shape.block());
    }

    Slab activatedMemory(long time) {
        return Slab.of(activatedMemories).plus(time % activatedMemories.size(0) * shape.block());
    }

    private INDArray state(Slab of) {
        return of.vector(shape.block()).reshape(shape.minibatch(), shape.units());
    }

    /** Returns the trace with the state after the last time step, of which these are the outputs. */
    StepTrace endedBy(Slab lastOutput) {
        RecurrentState state =
                new RecurrentState(state(lastOutput), memories == null ? null : state(memory(shape.steps())));
        return new StepTrace(shape, sums, values, memories, activatedMemories, outputs, output, state);
    }

    /** Returns a copy in the layer's type of a trace without memory cells, without the values. */
    StepTrace rounded(OneDnnContext context, DataType type, SequenceMemory to) {
        return new StepTrace(shape, to.copy(context, type, sums), null, null, null, outputs, output, last);
    }

    /** Returns a copy in FP32 of a trace that was rounded, still without the values; otherwise this. */
    StepTrace widened(OneDnnContext context, SequenceMemory to) {
        return values == null ? rounded(context, DataType.FLOAT, to) : this;
    }
}
