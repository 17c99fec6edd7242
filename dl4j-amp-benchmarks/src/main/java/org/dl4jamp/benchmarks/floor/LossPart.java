package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.eltwise_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.softmax_forward;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * The loss's gradient: softmax or sigmoid where outputs are probabilities, then the difference from the labels. Up to a
 * constant factor, which costs nothing. In inference the probabilities alone.
 */
final class LossPart {
    private final Tape tape;
    private final Flow output;
    private final Loss.Kind kind;
    private final float[] labels;

    /** @param labels in the order of the output's rows: classes, or numbers of the output's shape */
    LossPart(Tape tape, Flow output, Loss.Kind kind, float[] labels) {
        this.tape = tape;
        this.output = output;
        this.kind = kind;
        this.labels = labels;
        memory.desc numbers = output.description();
        memory predicted =
                switch (kind) {
                    case SQUARED_ERROR -> output.value();
                    case CROSS_ENTROPY -> softmax(tape, dnnl.prop_kind.forward_training, output, numbers);
                    case BINARY_CROSS_ENTROPY -> sigmoid(tape, dnnl.prop_kind.forward_training, output);
                };
        binary.primitive_desc difference = new binary.primitive_desc(
                tape.cpu(), dnnl.algorithm.binary_sub, numbers, numbers, output.gradientDescription());
        tape.add(
                new binary(difference),
                new Tape.Argument(dnnl.DNNL_ARG_SRC_0, predicted),
                new Tape.Argument(dnnl.DNNL_ARG_SRC_1, targets()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.newGradient()));
    }

    /** Returns the probabilities that a network's outputs stand for, or the outputs if these are no such. */
    static Flow probabilities(Tape tape, Loss.Kind kind, Flow outputs) {
        dnnl.prop_kind inference = dnnl.prop_kind.forward_inference;
        return switch (kind) {
            case SQUARED_ERROR -> outputs;
            case CROSS_ENTROPY -> {
                memory.desc numbers = tape.floats(memory.format_tag.ab, outputs.shape());
                memory probabilities = softmax(tape, inference, outputs, numbers);
                yield Flow.withoutGradient(tape, probabilities, numbers, outputs.shape());
            }
            case BINARY_CROSS_ENTROPY ->
                Flow.withoutGradient(tape, sigmoid(tape, inference, outputs), outputs.description(), outputs.shape());
        };
    }

    /** Puts the softmax along an output's last axis on the tape, and returns where it is. */
    private static memory softmax(Tape tape, dnnl.prop_kind kind, Flow output, memory.desc numbers) {
        softmax_forward.primitive_desc description = new softmax_forward.primitive_desc(
                tape.cpu(), kind, dnnl.algorithm.softmax_accurate, output.description(), numbers, output.rank() - 1);
        memory probabilities = tape.memory(numbers);
        tape.add(
                new softmax_forward(description),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, output.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, probabilities));
        return probabilities;
    }

    /** Puts the sigmoid of an output on the tape, and returns where it is. */
    private static memory sigmoid(Tape tape, dnnl.prop_kind kind, Flow output) {
        memory.desc numbers = output.description();
        eltwise_forward.primitive_desc description =
                new eltwise_forward.primitive_desc(tape.cpu(), kind, dnnl.algorithm.eltwise_logistic, numbers, numbers);
        memory probabilities = tape.memory(numbers);
        tape.add(
                new eltwise_forward(description),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, output.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, probabilities));
        return probabilities;
    }

    private memory targets() {
        memory.desc plain = tape.floats(plainTag(), output.shape());
        float[] numbers = labels;
        if (kind == Loss.Kind.CROSS_ENTROPY) {
            int classes = (int) output.size(1);
            numbers = new float[labels.length * classes];
            for (int row = 0; row < labels.length; row++) {
                numbers[row * classes + (int) labels[row]] = 1;
            }
        }
        return tape.filled(new Tensor(output.shape(), numbers), plain, output.description());
    }

    /** Returns the mean of the loss's terms, of the output that is there after a run. */
    double value() {
        float[] numbers = tape.read(output.value(), plainTag(), output.shape());
        double sum = 0;
        if (kind != Loss.Kind.CROSS_ENTROPY) {
            for (int i = 0; i < numbers.length; i++) {
                sum += kind == Loss.Kind.SQUARED_ERROR
                        ? Math.pow((double) numbers[i] - labels[i], 2)
                        : binaryCrossEntropy(numbers[i], labels[i]);
            }
            return sum / numbers.length;
        }
        int classes = numbers.length / labels.length;
        for (int row = 0; row < labels.length; row++) {
            sum += crossEntropy(numbers, row * classes, classes, (int) labels[row]);
        }
        return sum / labels.length;
    }

    private static double binaryCrossEntropy(double number, double label) {
        return Math.max(number, 0) + Math.log1p(Math.exp(-Math.abs(number))) - label * number;
    }

    private static double crossEntropy(float[] numbers, int from, int classes, int right) {
        double largest = Double.NEGATIVE_INFINITY;
        for (int i = from; i < from + classes; i++) {
            largest = Math.max(largest, numbers[i]);
        }
        double exponentials = 0;
        for (int i = from; i < from + classes; i++) {
            exponentials += Math.exp(numbers[i] - largest);
        }
        return Math.log(exponentials) + largest - numbers[from + right];
    }

    private memory.format_tag plainTag() {
        return output.rank() == 4 ? memory.format_tag.abcd : memory.format_tag.ab;
    }
}
