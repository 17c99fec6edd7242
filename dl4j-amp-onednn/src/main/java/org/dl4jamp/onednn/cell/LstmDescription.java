package org.dl4jamp.onednn.cell;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_backward;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.weights.GateWeights;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * oneDNN's LSTM for one shape, all of whose time steps are one primitive; to be used within {@link OneDnnContext#make}.
 * Its functions are tanh and sigmoid. It has no masks. Memory cells and biases are FP32.
 */
final class LstmDescription {
    private static final dnnl.rnn_direction ONWARD = dnnl.rnn_direction.unidirectional_left2right;

    /** The state at one end of the sequences: h in the layer's type, and c. */
    final memory.desc output;

    final memory.desc memories;
    private final memory.desc input;
    private final memory.desc outputs;
    private final memory.desc biases;
    private final memory.desc ofInput;
    private final memory.desc ofOutput;
    private final memory.desc ofMemories;

    /**
     * @param minibatch the examples of a time step in memory, which may be more than the primitive computes
     * @param peepholes whether there are weights between memory cells and gates, in FP32
     */
    LstmDescription(DataType type, SequenceShape shape, long minibatch, boolean peepholes) {
        long units = shape.units();
        input = steps(type, shape, minibatch, shape.nIn());
        outputs = steps(type, shape, minibatch, units);
        output = Layout.dense(type, 1, 1, shape.minibatch(), units).descriptor();
        memories = Layout.dense(DataType.FLOAT, 1, 1, shape.minibatch(), units).descriptor();
        biases = Layout.dense(DataType.FLOAT, 1, 1, shape.gates(), units).descriptor();
        ofInput = Layout.any(type, 1, 1, shape.nIn(), shape.gates(), units);
        ofOutput = Layout.any(type, 1, 1, units, shape.gates(), units);
        ofMemories = peepholes ? GateWeights.peepholes(units) : new memory.desc();
    }

    private static memory.desc steps(DataType type, SequenceShape shape, long minibatch, long size) {
        return Layout.strided(type, new long[] {shape.steps(), shape.minibatch(), size}, minibatch * size, size, 1)
                .descriptor();
    }

    /** Returns the work of one time step, after which its threads wait for one another. */
    static Work step(SequenceShape shape) {
        return Work.ofProducts(shape.block() * shape.gates() * (shape.nIn() + shape.units()));
    }

    lstm_forward.primitive_desc forward(dnnl.prop_kind kind) {
        return new lstm_forward.primitive_desc(
                OneDnnContext.cpu(),
                kind,
                ONWARD,
                input,
                output,
                memories,
                ofInput,
                ofOutput,
                ofMemories,
                biases,
                outputs,
                output,
                memories,
                OneDnnContext.attributes(),
                false);
    }

    lstm_backward.primitive_desc backward(lstm_forward.primitive_desc forward) {
        return new lstm_backward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.backward,
                ONWARD,
                input,
                output,
                memories,
                ofInput,
                ofOutput,
                ofMemories,
                biases,
                outputs,
                output,
                memories,
                input,
                output,
                memories,
                ofInput,
                ofOutput,
                ofMemories,
                biases,
                outputs,
                output,
                memories,
                forward,
                OneDnnContext.attributes(),
                false);
    }
}
