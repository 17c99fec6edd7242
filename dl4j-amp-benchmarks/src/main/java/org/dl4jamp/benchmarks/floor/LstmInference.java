package org.dl4jamp.benchmarks.floor;

import java.util.Optional;
import java.util.OptionalInt;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Memories;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * One LSTM layer, forward only: over whole sequences from a state of zeros, or one time step, [1, minibatch, features],
 * from the state that the one before it left.
 */
final class LstmInference {
    private static final int GATES = 4;

    private final Tape tape;
    private final Memories memories;
    private final Operation.Lstm lstm;
    private final Tensor inputWeights;
    private final Tensor recurrentWeights;
    private final Tensor bias;
    private final Optional<Tensor> peepholes;
    private final long hidden;

    LstmInference(Tape tape, Memories memories, Tensors tensors, Operation.Lstm lstm) {
        this.tape = tape;
        this.memories = memories;
        this.lstm = lstm;
        inputWeights = tensors.get(lstm, Parameter.INPUT_WEIGHTS);
        recurrentWeights = tensors.get(lstm, Parameter.RECURRENT_WEIGHTS);
        bias = tensors.get(lstm, Parameter.BIAS);
        peepholes = LstmPart.peepholes(lstm, tensors);
        hidden = recurrentWeights.size(1);
    }

    /** The layer's state: its last output, and its cells. */
    private record State(memory output, memory cells) {}

    /** Adds its primitive and returns the output. */
    Flow add(Flow input, OptionalInt step) {
        long minibatch = input.size(1);
        long[] inputShape = {1, 1, inputWeights.size(1), GATES, hidden};
        long[] recurrentShape = {1, 1, hidden, GATES, hidden};
        memory.desc biases = tape.floats(memory.format_tag.ldgo, 1, 1, GATES, hidden);
        memory.desc peepholeWeights = LstmPart.peepholes(tape, peepholes);
        long[] shape = {input.size(0), minibatch, hidden};
        memory.desc outputs = tape.activations(memory.format_tag.tnc, shape);
        boolean carries = step.isPresent();
        memory.desc lastOutput =
                carries ? tape.activations(memory.format_tag.ldnc, 1, 1, minibatch, hidden) : new memory.desc();
        memory.desc cells = carries ? tape.floats(memory.format_tag.ldnc, 1, 1, minibatch, hidden) : new memory.desc();
        lstm_forward.primitive_desc description = new lstm_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_inference,
                dnnl.rnn_direction.unidirectional_left2right,
                input.description(),
                lastOutput,
                cells,
                tape.activations(memory.format_tag.any, inputShape),
                tape.activations(memory.format_tag.any, recurrentShape),
                peepholeWeights,
                biases,
                outputs,
                lastOutput,
                cells);
        Flow output = Flow.withoutGradient(tape, memories.take(outputs), outputs, shape);
        tape.add(
                new lstm_forward(description),
                new Tape.Argument(dnnl.DNNL_ARG_SRC_LAYER, input.value()),
                new Tape.Argument(
                        dnnl.DNNL_ARG_WEIGHTS_LAYER,
                        weights("input", inputWeights, inputShape, description.weights_layer_desc())),
                new Tape.Argument(
                        dnnl.DNNL_ARG_WEIGHTS_ITER,
                        weights("recurrent", recurrentWeights, recurrentShape, description.weights_iter_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_BIAS, memories.filled(lstm.name() + "/bias", bias, biases, biases)),
                new Tape.Argument(dnnl.DNNL_ARG_DST_LAYER, output.value()));
        peepholes.ifPresent(each -> tape.addArguments(new Tape.Argument(
                dnnl.DNNL_ARG_WEIGHTS_PEEPHOLE,
                memories.filled(lstm.name() + "/peepholes", each, peepholeWeights, peepholeWeights))));
        if (carries) {
            State before = before(step.getAsInt(), minibatch, lastOutput, cells);
            State after = state(step.getAsInt() + 1, lastOutput, cells);
            tape.addArguments(
                    new Tape.Argument(dnnl.DNNL_ARG_SRC_ITER, before.output()),
                    new Tape.Argument(dnnl.DNNL_ARG_SRC_ITER_C, before.cells()),
                    new Tape.Argument(dnnl.DNNL_ARG_DST_ITER, after.output()),
                    new Tape.Argument(dnnl.DNNL_ARG_DST_ITER_C, after.cells()));
        }
        return output;
    }

    private memory weights(String which, Tensor weights, long[] shape, memory.desc wanted) {
        memory.desc plain = tape.floats(memory.format_tag.ldgoi, shape);
        return memories.filled(lstm.name() + "/" + which + " weights", weights, plain, wanted);
    }

    private State before(int step, long minibatch, memory.desc lastOutput, memory.desc cells) {
        if (step > 0) {
            return state(step, lastOutput, cells);
        }
        memory.desc plain = tape.floats(memory.format_tag.ldnc, 1, 1, minibatch, hidden);
        float[] zeros = new float[Math.toIntExact(minibatch * hidden)];
        Tensor nothing = new Tensor(new long[] {zeros.length}, zeros);
        return new State(
                memories.filled(lstm.name() + "/no output", nothing, plain, lastOutput),
                memories.filled(lstm.name() + "/no cells", nothing, plain, cells));
    }

    /** Two take turns, since none is read and written at once. */
    private State state(int step, memory.desc lastOutput, memory.desc cells) {
        String turn = step % 2 == 0 ? "even" : "odd";
        return new State(
                memories.named(lstm.name() + "/output, " + turn, lastOutput),
                memories.named(lstm.name() + "/cells, " + turn, cells));
    }
}
