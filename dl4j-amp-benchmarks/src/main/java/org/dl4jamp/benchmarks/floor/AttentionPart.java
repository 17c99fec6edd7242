package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.softmax_backward;
import org.bytedeco.dnnl.softmax_forward;
import org.bytedeco.javacpp.BytePointer;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Memories;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * Attention without weights of its own: a product of queries and keys, softmax, a product with the values. Rows of the
 * input hold the queries of all heads, then the keys, then the values. The primitives read them where they are.
 */
final class AttentionPart implements Part {
    private static final dnnl.algorithm SOFTMAX = dnnl.algorithm.softmax_accurate;
    private static final int KEYS_AXIS = 3;
    private static final int QUERIES = 0;
    private static final int KEYS = 1;
    private static final int VALUES = 2;
    private static final int THINGS = 3;
    private static final float UNSCALED = 1;

    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final Shape shape;
    private final memory probabilities;
    private final softmax_forward.primitive_desc softmax;

    /** A matrix for each sequence and each head, somewhere in a memory. */
    private record Matrices(memory at, memory.desc description) {}

    /**
     * The shape of an attention.
     *
     * @param minibatch sequences
     * @param time steps of a sequence
     * @param heads number of heads
     * @param size numbers of a head
     */
    private record Shape(Tape tape, long minibatch, long time, long heads, long size) {
        static Shape of(Tape tape, Flow input, int heads, long minibatch) {
            return new Shape(tape, minibatch, input.size(0) / minibatch, heads, input.size(1) / THINGS / heads);
        }

        long[] outputRows() {
            return new long[] {minibatch * time, heads * size};
        }

        memory.desc scores() {
            return tape.activations(memory.format_tag.abcd, minibatch, heads, time, time);
        }

        Matrices scores(memory at) {
            return new Matrices(at, scores());
        }

        Matrices transposedScores(memory at) {
            return new Matrices(at, tape.activations(memory.format_tag.abdc, minibatch, heads, time, time));
        }

        /** Returns the queries, keys or values in rows of all three, [minibatch, heads, time, size]. */
        Matrices of(int thing, memory rows) {
            return at(rows, thing * heads * size, THINGS * heads * size);
        }

        /** Returns the same as [minibatch, heads, size, time]. */
        Matrices transposed(int thing, memory rows) {
            Matrices matrices = of(thing, rows);
            return new Matrices(matrices.at(), matrices.description().permute_axes(new int[] {0, 1, 3, 2}));
        }

        Matrices outputs(memory rows) {
            return at(rows, 0, heads * size);
        }

        private Matrices at(memory rows, long offset, long row) {
            memory.desc description = new memory.desc(
                    new long[] {minibatch, heads, time, size}, tape.type(), new long[] {time * row, size, row, 1});
            long bytes = tape.type() == memory.data_type.bf16 ? Short.BYTES : Float.BYTES;
            return new Matrices(
                    new memory(
                            description,
                            tape.cpu(),
                            new BytePointer(rows.get_data_handle()).getPointer(offset * bytes)),
                    description);
        }

        float scale() {
            return (float) (1 / Math.sqrt((double) size));
        }
    }

    /**
     * Adds the forward primitives of a training step.
     *
     * @param input [minibatch * time, 3 * heads * size]
     */
    AttentionPart(Tape tape, Flow input, int heads, long minibatch) {
        this(tape, input, Shape.of(tape, input, heads, minibatch));
    }

    private AttentionPart(Tape tape, Flow input, Shape shape) {
        this(
                tape,
                input,
                Flow.output(tape, tape.activations(memory.format_tag.ab, shape.outputRows()), shape.outputRows()),
                shape,
                tape.memory(shape.scores()),
                dnnl.prop_kind.forward_training);
    }

    private AttentionPart(Tape tape, Flow input, Flow output, Shape shape, memory scores, dnnl.prop_kind kind) {
        this.tape = tape;
        this.input = input;
        this.output = output;
        this.shape = shape;
        this.probabilities = scores;
        memory rows = input.value();
        multiply(shape.of(QUERIES, rows), shape.transposed(KEYS, rows), shape.scores(scores), shape.scale());
        softmax = new softmax_forward.primitive_desc(
                tape.cpu(), kind, SOFTMAX, shape.scores(), shape.scores(), KEYS_AXIS);
        tape.add(
                new softmax_forward(softmax),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, scores),
                new Tape.Argument(dnnl.DNNL_ARG_DST, scores));
        multiply(shape.scores(scores), shape.of(VALUES, rows), shape.outputs(output.value()), UNSCALED);
    }

    /** Adds the primitives of a pass of inference and returns the output. */
    static Flow infer(Tape tape, Memories memories, Flow input, int heads, long minibatch) {
        Shape shape = Shape.of(tape, input, heads, minibatch);
        memory.desc rows = tape.activations(memory.format_tag.ab, shape.outputRows());
        Flow output = Flow.withoutGradient(tape, memories.take(rows), rows, shape.outputRows());
        memory scores = memories.take(shape.scores());
        new AttentionPart(tape, input, output, shape, scores, dnnl.prop_kind.forward_inference);
        memories.give(scores);
        return output;
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        memory rows = input.value();
        memory gradients = input.newGradient();
        Matrices outputGradients = shape.outputs(output.gradient());
        memory scoreGradients = tape.memory(shape.scores());
        multiply(shape.transposedScores(probabilities), outputGradients, shape.of(VALUES, gradients), UNSCALED);
        multiply(outputGradients, shape.transposed(VALUES, rows), shape.scores(scoreGradients), UNSCALED);
        softmax_backward.primitive_desc backward = new softmax_backward.primitive_desc(
                tape.cpu(), SOFTMAX, shape.scores(), shape.scores(), shape.scores(), KEYS_AXIS, softmax);
        tape.add(
                new softmax_backward(backward),
                new Tape.Argument(dnnl.DNNL_ARG_DST, probabilities),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, scoreGradients),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, scoreGradients));
        multiply(shape.scores(scoreGradients), shape.of(KEYS, rows), shape.of(QUERIES, gradients), shape.scale());
        multiply(
                shape.transposedScores(scoreGradients),
                shape.of(QUERIES, rows),
                shape.of(KEYS, gradients),
                shape.scale());
    }

    private void multiply(Matrices left, Matrices right, Matrices product, float scale) {
        primitive_attr attributes = new primitive_attr();
        if (scale != UNSCALED) {
            post_ops after = new post_ops();
            after.append_eltwise(dnnl.algorithm.eltwise_linear, scale, 0);
            attributes.set_post_ops(after);
        }
        matmul.primitive_desc description = new matmul.primitive_desc(
                tape.cpu(), left.description(), right.description(), product.description(), attributes, false);
        tape.add(
                new matmul(description),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, left.at()),
                new Tape.Argument(dnnl.DNNL_ARG_WEIGHTS, right.at()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, product.at()));
    }
}
