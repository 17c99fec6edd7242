package org.dl4jamp.benchmarks.floor;

import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_backward;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * One LSTM layer, with peepholes or without, over a whole sequence, [time, minibatch, features], from a state of zeros.
 * Its gradients are FP32: oneDNN has no others.
 */
final class LstmPart implements Part {
    private static final int GATES = 4;
    private static final int PEEPHOLES = 3;

    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final Tensor inputWeights;
    private final Tensor recurrentWeights;
    private final memory.desc plainInputWeights;
    private final memory.desc plainRecurrentWeights;
    private final long[] inputShape;
    private final long[] recurrentShape;
    private final Optional<Tensor> peepholes;
    private final memory.desc peepholeWeights;
    private final memory.desc biases;
    private final memory bias;
    private final memory workspace;
    private final lstm_forward.primitive_desc forward;

    LstmPart(Tape tape, Flow input, Operation.Lstm lstm, Tensors tensors) {
        this.tape = tape;
        this.input = input;
        inputWeights = tensors.get(lstm, Parameter.INPUT_WEIGHTS);
        recurrentWeights = tensors.get(lstm, Parameter.RECURRENT_WEIGHTS);
        peepholes = peepholes(lstm, tensors);
        long features = inputWeights.size(1);
        long hidden = recurrentWeights.size(1);
        inputShape = new long[] {1, 1, features, GATES, hidden};
        recurrentShape = new long[] {1, 1, hidden, GATES, hidden};
        plainInputWeights = tape.floats(memory.format_tag.ldgoi, inputShape);
        plainRecurrentWeights = tape.floats(memory.format_tag.ldgoi, recurrentShape);
        biases = tape.floats(memory.format_tag.ldgo, 1, 1, GATES, hidden);
        peepholeWeights = peepholes(tape, peepholes);
        long[] shape = {input.size(0), input.size(1), hidden};
        output = Flow.output(
                tape, tape.activations(memory.format_tag.tnc, shape), tape.floats(memory.format_tag.tnc, shape), shape);
        memory.desc noState = new memory.desc();
        forward = new lstm_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_training,
                dnnl.rnn_direction.unidirectional_left2right,
                input.description(),
                noState,
                noState,
                tape.activations(memory.format_tag.any, inputShape),
                tape.activations(memory.format_tag.any, recurrentShape),
                peepholeWeights,
                biases,
                output.description(),
                noState,
                noState);
        bias = tape.filled(tensors.get(lstm, Parameter.BIAS), biases, biases);
        workspace = tape.memory(forward.workspace_desc());
        add(new lstm_forward(forward), forward.weights_layer_desc(), forward.weights_iter_desc());
    }

    /** Returns the weights of the cells, if the gates read them. */
    static Optional<Tensor> peepholes(Operation.Lstm lstm, Tensors tensors) {
        return lstm.peepholes() ? Optional.of(tensors.get(lstm, Parameter.PEEPHOLES)) : Optional.empty();
    }

    /** Returns the description of the weights of the cells, or of none. */
    static memory.desc peepholes(Tape tape, Optional<Tensor> weights) {
        return weights.map(each -> tape.floats(memory.format_tag.ldgo, 1, 1, PEEPHOLES, each.size(1)))
                .orElseGet(memory.desc::new);
    }

    /** Adds a primitive of either direction, with the arguments that both have. */
    private void add(primitive lstm, memory.desc wantedInputWeights, memory.desc wantedRecurrentWeights) {
        tape.add(
                lstm,
                new Tape.Argument(dnnl.DNNL_ARG_SRC_LAYER, input.value()),
                new Tape.Argument(
                        dnnl.DNNL_ARG_WEIGHTS_LAYER, tape.filled(inputWeights, plainInputWeights, wantedInputWeights)),
                new Tape.Argument(
                        dnnl.DNNL_ARG_WEIGHTS_ITER,
                        tape.filled(recurrentWeights, plainRecurrentWeights, wantedRecurrentWeights)),
                new Tape.Argument(dnnl.DNNL_ARG_BIAS, bias),
                new Tape.Argument(dnnl.DNNL_ARG_DST_LAYER, output.value()),
                new Tape.Argument(dnnl.DNNL_ARG_WORKSPACE, workspace));
        peepholes.ifPresent(each -> tape.addArguments(new Tape.Argument(
                dnnl.DNNL_ARG_WEIGHTS_PEEPHOLE, tape.filled(each, peepholeWeights, peepholeWeights))));
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        memory.desc noState = new memory.desc();
        memory.desc inputGradients = tape.floats(memory.format_tag.tnc, input.shape());
        lstm_backward.primitive_desc backward = new lstm_backward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.backward,
                dnnl.rnn_direction.unidirectional_left2right,
                input.description(),
                noState,
                noState,
                tape.activations(memory.format_tag.any, inputShape),
                tape.activations(memory.format_tag.any, recurrentShape),
                peepholeWeights,
                biases,
                output.description(),
                noState,
                noState,
                inputGradients,
                noState,
                noState,
                tape.floats(memory.format_tag.any, inputShape),
                tape.floats(memory.format_tag.any, recurrentShape),
                peepholeWeights,
                biases,
                output.gradientDescription(),
                noState,
                noState,
                forward);
        add(new lstm_backward(backward), backward.weights_layer_desc(), backward.weights_iter_desc());
        tape.addArguments(
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST_LAYER, output.gradient()),
                new Tape.Argument(
                        dnnl.DNNL_ARG_DIFF_SRC_LAYER,
                        input.needsGradient() ? input.newGradient() : tape.memory(inputGradients)),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_WEIGHTS_LAYER, tape.memory(backward.diff_weights_layer_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_WEIGHTS_ITER, tape.memory(backward.diff_weights_iter_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_BIAS, tape.memory(biases)));
        if (peepholes.isPresent()) {
            tape.addArguments(new Tape.Argument(dnnl.DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE, tape.memory(peepholeWeights)));
        }
    }
}
