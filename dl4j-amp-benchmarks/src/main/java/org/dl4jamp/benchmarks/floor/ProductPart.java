package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/** A product with weights, and its bias, and ReLU if that follows. */
abstract class ProductPart implements Part {
    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final boolean relu;
    private final Tensor weights;
    private final memory.desc plainWeights;
    private final memory.desc biases;

    /** @param plainWeights the weights as they are given */
    ProductPart(Tape tape, Flow input, Flow output, Tensor weights, memory.desc plainWeights, boolean relu) {
        this.tape = tape;
        this.input = input;
        this.output = output;
        this.relu = relu;
        this.weights = weights;
        this.plainWeights = plainWeights;
        this.biases = biases(tape, weights);
    }

    /** Returns a description of one bias for each output. */
    static memory.desc biases(Tape tape, Tensor weights) {
        return tape.floats(memory.format_tag.a, weights.size(0));
    }

    /** Puts the forward primitive on the tape. */
    final void forward(primitive_desc forward, Tensor bias) {
        tape.add(
                new primitive(forward),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_WEIGHTS, tape.filled(weights, plainWeights, forward.weights_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_BIAS, tape.filled(bias, biases, biases)),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
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
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_WEIGHTS, tape.memory(ofWeights.diff_weights_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_BIAS, tape.memory(biases)));
    }
}
