package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.attention.AttentionForm.KEYS;
import static org.dl4jamp.onednn.attention.AttentionForm.QUERIES;

import java.util.List;
import java.util.stream.IntStream;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.onednn.scores.AttentionShape;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The sizes and types of all that an attention layer or vertex computes for inputs of one shape. */
final class AttentionSizes {
    private final AttentionForm form;
    private final DataType type;
    private final DataType gradientType;
    final long minibatch;
    final long[] lengths;
    final long[] widths;
    /** The size of the rows of all heads. */
    final long width;
    /** The size of the output of a query. */
    final long outputs;

    /** @param inputs {@code [minibatch, nIn, time]} each */
    AttentionSizes(AttentionForm form, DataType type, List<INDArray> inputs) {
        this.form = form;
        this.type = type;
        this.minibatch = inputs.get(0).size(0);
        this.lengths = inputs.stream().mapToLong(input -> input.size(2)).toArray();
        this.widths = inputs.stream().mapToLong(input -> input.size(1)).toArray();
        this.width = form.width(inputs);
        this.outputs = form.projects() ? form.nOut() : width;
        this.gradientType = addsUp() ? DataType.FLOAT : type;
    }

    /** Returns whether an input is used several times as it is, so that its gradients have to be added up. */
    boolean addsUp() {
        return !form.projects() && form.inputs() < 3;
    }

    AttentionShape shape() {
        long queries = lengths[form.source(QUERIES)];
        long keys = lengths[form.source(KEYS)];
        return new AttentionShape(
                type,
                gradientType,
                form.projects() ? 1 : ExternalErrors.factor(),
                minibatch,
                form.projects() ? form.heads() : 1,
                form.projects() ? form.headSize() : width,
                queries,
                keys,
                AttentionShape.Strides.dense(rowOf(form.source(QUERIES)), queries),
                AttentionShape.Strides.dense(rowOf(form.source(KEYS)), keys),
                AttentionShape.Strides.dense(width, queries));
    }

    /** Returns those of the projection of the output. */
    Projection.Sizes outputProjection() {
        return new Projection.Sizes(
                type,
                type,
                ExternalErrors.factor(),
                minibatch * lengths[form.source(QUERIES)],
                width,
                outputs,
                Projection.Order.INPUT_FIRST);
    }

    /** Returns those of the projections of an input. */
    Projection.Sizes projections(int input) {
        return new Projection.Sizes(
                type,
                gradientOf(input),
                1,
                minibatch * lengths[input],
                widths[input],
                form.uses(input) * width,
                Projection.Order.OUTPUT_FIRST);
    }

    /** Returns the size of a row of what is made of an input. */
    long rowOf(int input) {
        return form.projects() ? form.uses(input) * width : widths[input];
    }

    /** Returns the type of the gradient of an input. */
    DataType gradientOf(int input) {
        return form.learnsQueries() && input == form.source(QUERIES) ? DataType.FLOAT : type;
    }

    /** Returns {@code [minibatch, nOut, queries]}. */
    long[] outputShape() {
        return new long[] {minibatch, outputs, lengths[form.source(QUERIES)]};
    }

    /** Returns the index of the first weight of an input's projections. */
    long firstWeight(int input) {
        return form.firstWeight()
                + IntStream.range(0, input)
                        .mapToLong(i -> form.uses(i) * width * widths[i])
                        .sum();
    }
}
