package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.attention.AttentionForm.KEYS;
import static org.dl4jamp.onednn.attention.AttentionForm.QUERIES;
import static org.dl4jamp.onednn.attention.AttentionForm.VALUES;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.primitive.Combination;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.scores.ScaledDotProduct;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Projections, attention and the projection of its result, for inputs of one shape. Projections of the same input are
 * one product: DL4J's weights of queries, keys and values follow each other in memory.
 */
final class AttentionKernels implements AutoCloseable {
    private final OneDnnContext context;
    private final AttentionForm form;
    private final DataType type;
    private final AttentionSizes sizes;
    private final long minibatch;
    private final long[] lengths;
    private final long width;
    private final WeightCopy weights;
    private final Kernel round;
    private final List<Projection> projections = new ArrayList<>();
    private final Projection outputProjection;
    private final ScaledDotProduct attention;
    private final List<Combination> sums = new ArrayList<>();
    private final Kernel maskQueries;

    /**
     * Makes it, to be called within {@link OneDnnContext#make}.
     *
     * @param inputs {@code [minibatch, nIn, time]} each
     * @param parameters how many there are
     * @param weights memory for a copy of all parameters in the type of products
     */
    AttentionKernels(
            OneDnnContext context,
            String layer,
            AttentionForm form,
            DataType type,
            List<INDArray> inputs,
            long parameters,
            WeightCopy weights,
            long scores) {
        this.context = context;
        this.form = form;
        this.type = type;
        this.weights = weights;
        this.sizes = new AttentionSizes(form, type, inputs);
        this.minibatch = sizes.minibatch;
        this.lengths = sizes.lengths;
        this.width = sizes.width;
        boolean rounds = type != DataType.FLOAT && parameters > 0;
        if (rounds) {
            weights.reserve(parameters * type.width());
        }
        round = rounds
                ? context.copies()
                        .make(
                                layer,
                                Layout.dense(DataType.FLOAT, parameters).descriptor(),
                                Layout.dense(type, parameters).descriptor())
                : null;
        attention = new ScaledDotProduct(context, layer, sizes.shape(), scores);
        for (int i = 0; i < form.inputs(); i++) {
            if (form.projects()) {
                projections.add(new Projection(context, layer, sizes.projections(i)));
            }
        }
        outputProjection = form.projects() ? new Projection(context, layer, sizes.outputProjection()) : null;
        maskQueries = maskQueries(layer);
        if (sizes.addsUp()) {
            for (int i = 0; i < form.inputs(); i++) {
                sums.add(sum(layer, i));
            }
        }
    }

    AttentionSizes sizes() {
        return sizes;
    }

    private Kernel maskQueries(String layer) {
        long rows = minibatch * lengths[form.source(QUERIES)];
        memory.desc output = Layout.dense(type, rows, sizes.outputs).descriptor();
        memory.desc factors = Layout.dense(DataType.FLOAT, rows, 1).descriptor();
        return Work.ofNumbers(rows * sizes.outputs)
                .withItsThreads(() -> new Kernel(
                        context,
                        layer,
                        new binary.primitive_desc(
                                OneDnnContext.cpu(),
                                dnnl.algorithm.binary_mul,
                                output,
                                factors,
                                output,
                                OneDnnContext.attributes(),
                                false)));
    }

    /**
     * Multiplies the output, or its gradient, of each query.
     *
     * @param rows {@link AttentionSizes#outputShape()} in channels-last order
     * @param factors FLOAT {@code [minibatch, queries]}
     * @param target may be the same as {@code rows}
     */
    void maskQueries(INDArray rows, INDArray factors, INDArray target) {
        maskQueries
                .bind(dnnl.DNNL_ARG_SRC_0, rows)
                .bind(dnnl.DNNL_ARG_SRC_1, factors)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    private Combination sum(String layer, int input) {
        Layout rows = Layout.dense(DataType.FLOAT, minibatch, lengths[input], sizes.widths[input]);
        return form.uses(input) == 1
                ? null
                : Combination.make(
                        context,
                        layer,
                        new Combination.Task(dnnl.algorithm.binary_add, form.uses(input), List.of(), rows));
    }

    private Place weight(INDArray parameters, long index) {
        return round == null ? Slab.of(parameters).plus(index).place() : weights.place(index * type.width());
    }

    /** Returns the place of FP32 gradients from an index on. */
    private static Place from(Place gradients, long index) {
        long skipped = index * Float.BYTES;
        return new Place(gradients.owner(), gradients.address() + skipped, gradients.bytes() - skipped);
    }

    /** Rounds the FP32 master weights, unless they are used in place. */
    private void takeWeights(INDArray parameters) {
        if (round != null && !weights.isCurrent()) {
            round.copy(Place.of(parameters), weights.place(0));
            weights.takenBy(this);
        }
    }

    private Slab part(List<INDArray> made, int role) {
        long offset = form.projects() ? form.place(role) * width : 0;
        return Slab.of(made.get(form.source(role))).plus(offset);
    }

    private ScaledDotProduct.Operands operands(List<INDArray> made, INDArray mask) {
        return new ScaledDotProduct.Operands(
                part(made, QUERIES), part(made, KEYS), part(made, VALUES), mask == null ? null : Slab.of(mask));
    }

    /**
     * Runs a forward pass.
     *
     * @param inputs in channels-last order
     * @param mask the summands of scores; null for none
     * @param output {@link AttentionSizes#outputShape()} in channels-last order
     * @param lasting memory for the trace
     */
    AttentionTrace forward(
            List<INDArray> inputs, INDArray parameters, INDArray mask, INDArray output, AttentionMemory lasting) {
        if (!form.projects()) {
            attention.forward(operands(inputs, mask), Slab.of(output));
            return new AttentionTrace(inputs, null);
        }
        takeWeights(parameters);
        List<INDArray> projected = new ArrayList<>();
        for (int i = 0; i < form.inputs(); i++) {
            INDArray rows = lasting.create(type, minibatch, lengths[i], sizes.rowOf(i));
            projections
                    .get(i)
                    .forward(Place.of(inputs.get(i)), weight(parameters, sizes.firstWeight(i)), Place.of(rows));
            projected.add(rows);
        }
        INDArray attended = lasting.create(type, minibatch, lengths[form.source(QUERIES)], width);
        attention.forward(operands(projected, mask), Slab.of(attended));
        outputProjection.forward(
                Place.of(attended), weight(parameters, sizes.firstWeight(form.inputs())), Place.of(output));
        return new AttentionTrace(projected, attended);
    }

    void backward(AttentionPasses.Backward pass) {
        if (form.projects()) {
            backwardProjected(pass);
        } else {
            backwardPlain(pass);
        }
    }

    private void backwardProjected(AttentionPasses.Backward pass) {
        INDArray parameters = pass.parameters();
        AttentionTrace trace = pass.trace();
        takeWeights(parameters);
        long last = sizes.firstWeight(form.inputs());
        Place epsilon = Place.of(pass.epsilon());
        INDArray attended = pass.working().create(type, trace.attended().shape());
        outputProjection.backwardInput(epsilon, weight(parameters, last), Place.of(attended));
        outputProjection.backwardWeights(Place.of(trace.attended()), epsilon, from(pass.gradients(), last));
        List<INDArray> made = trace.projected().stream()
                .map(rows -> pass.working().create(type, rows.shape()))
                .toList();
        attention.backward(
                operands(trace.projected(), pass.mask()),
                Slab.of(attended),
                new ScaledDotProduct.Gradients(part(made, QUERIES), part(made, KEYS), part(made, VALUES)));
        for (int i = 0; i < form.inputs(); i++) {
            Projection projection = projections.get(i);
            Place delta = Place.of(made.get(i));
            long first = sizes.firstWeight(i);
            projection.backwardWeights(Place.of(pass.inputs().get(i)), delta, from(pass.gradients(), first));
            if (!pass.nexts().isEmpty()) {
                projection.backwardInput(
                        delta, weight(parameters, first), Place.of(pass.nexts().get(i)));
            }
        }
    }

    private void backwardPlain(AttentionPasses.Backward pass) {
        List<INDArray> nexts = pass.nexts();
        INDArray[] made = new INDArray[3];
        for (int role = QUERIES; role <= VALUES; role++) {
            int source = form.source(role);
            made[role] = form.uses(source) == 1
                    ? nexts.get(source)
                    : pass.working().create(DataType.FLOAT, minibatch, lengths[source], sizes.widths[source]);
        }
        attention.backward(
                operands(pass.inputs(), pass.mask()),
                Slab.of(pass.epsilon()),
                new ScaledDotProduct.Gradients(Slab.of(made[QUERIES]), Slab.of(made[KEYS]), Slab.of(made[VALUES])));
        for (int i = 0; i < form.inputs(); i++) {
            int input = i;
            if (form.uses(i) > 1) {
                List<INDArray> parts = IntStream.rangeClosed(QUERIES, VALUES)
                        .filter(role -> form.source(role) == input)
                        .mapToObj(role -> made[role])
                        .toList();
                sums.get(i).run(parts, parts.get(0));
                context.copies().copy(Views.permuted(parts.get(0), 0, 2, 1), nexts.get(i));
            }
        }
    }

    @Override
    public void close() {
        if (round != null) {
            round.close();
        }
        projections.forEach(Projection::close);
        if (outputProjection != null) {
            outputProjection.close();
        }
        attention.close();
        maskQueries.close();
        sums.stream().filter(sum -> sum != null).forEach(Combination::close);
    }
}
