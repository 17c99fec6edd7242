package org.dl4jamp.benchmarks.floor;

import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.ReluFusion;
import org.dl4jamp.benchmarks.tape.Tape;

/** A product with weights, and its bias, if it has one, and ReLU if that follows. */
abstract class ProductPart implements Part {
    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final boolean relu;
    private final Tensor weights;
    private final Optional<Tensor> bias;
    private final memory.desc plainWeights;
    private final memory.desc biases;

    /** @param plainWeights the weights as they are given */
    ProductPart(
            Tape tape,
            Flow input,
            Flow output,
            Tensor weights,
            Optional<Tensor> bias,
            memory.desc plainWeights,
            boolean relu) {
        this.tape = tape;
        this.input = input;
        this.output = output;
        this.relu = relu;
        this.weights = weights;
        this.bias = bias;
        this.plainWeights = plainWeights;
        this.biases = biases(tape, bias);
    }

    /** Returns a description of one bias for each output, or of none. */
    static memory.desc biases(Tape tape, Optional<Tensor> bias) {
        return bias.map(each -> tape.floats(memory.format_tag.a, each.shape())).orElseGet(memory.desc::new);
    }

    /** Puts the forward primitive on the tape. */
    final void forward(primitive_desc forward) {
        tape.add(
                new primitive(forward),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_WEIGHTS, tape.filled(weights, plainWeights, forward.weights_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
        bias.ifPresent(
                each -> tape.addArguments(new Tape.Argument(dnnl.DNNL_ARG_BIAS, tape.filled(each, biases, biases))));
    }

    /** Returns the primitive for the gradient of the input. */
    abstract primitive_desc backwardData();

    /** Returns the primitive for the gradients of weights and bias. */
    abstract primitive_desc backwardWeights();

    @Override
    public final Flow output() {
        return output;
    }

    @Override
    public final void backward() {
        memory gradient = ReluFusion.backward(tape, output, relu);
        if (input.needsGradient()) {
            primitive_desc data = backwardData();
            tape.add(
                    new primitive(data),
                    new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, gradient),
                    new Tape.Argument(dnnl.DNNL_ARG_WEIGHTS, tape.filled(weights, plainWeights, data.weights_desc())),
                    new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, input.newGradient()));
        }
        primitive_desc ofWeights = backwardWeights();
        tape.add(
                new primitive(ofWeights),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, gradient),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_WEIGHTS, tape.memory(ofWeights.diff_weights_desc())));
        if (bias.isPresent()) {
            tape.addArguments(new Tape.Argument(dnnl.DNNL_ARG_DIFF_BIAS, tape.memory(biases)));
        }
    }
}
