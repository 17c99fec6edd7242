package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_backward;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/**
 * One LSTM layer over a whole sequence, [time, minibatch, features], from a state of zeros. Its gradients are FP32:
 * oneDNN has no others.
 */
final class LstmPart implements Part {
    private static final int GATES = 4;

    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final Tensor inputWeights;
    private final Tensor recurrentWeights;
    private final memory.desc plainInputWeights;
    private final memory.desc plainRecurrentWeights;
    private final long[] inputShape;
    private final long[] recurrentShape;
    private final memory.desc biases;
    private final memory bias;
    private final memory workspace;
    private final lstm_forward.primitive_desc forward;

    LstmPart(Tape tape, Flow input, Tensor inputWeights, Tensor recurrentWeights, Tensor bias) {
        this.tape = tape;
        this.input = input;
        this.inputWeights = inputWeights;
        this.recurrentWeights = recurrentWeights;
        long features = inputWeights.size(1);
        long hidden = recurrentWeights.size(1);
        inputShape = new long[] {1, 1, features, GATES, hidden};
        recurrentShape = new long[] {1, 1, hidden, GATES, hidden};
        plainInputWeights = tape.floats(memory.format_tag.ldgoi, inputShape);
        plainRecurrentWeights = tape.floats(memory.format_tag.ldgoi, recurrentShape);
        biases = tape.floats(memory.format_tag.ldgo, 1, 1, GATES, hidden);
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
                biases,
                output.description(),
                noState,
                noState);
        this.bias = tape.filled(bias, biases, biases);
        workspace = tape.memory(forward.workspace_desc());
        add(new lstm_forward(forward), forward.weights_layer_desc(), forward.weights_iter_desc());
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
                biases,
                output.description(),
                noState,
                noState,
                inputGradients,
                noState,
                noState,
                tape.floats(memory.format_tag.any, inputShape),
                tape.floats(memory.format_tag.any, recurrentShape),
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
    }
}
