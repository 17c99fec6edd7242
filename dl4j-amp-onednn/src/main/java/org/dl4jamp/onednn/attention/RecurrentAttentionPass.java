package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.attention.RecurrentAttentionKernels.run;

import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.BlockProduct;
import org.dl4jamp.onednn.scores.ScaledDotProduct;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A forward or backward pass of a recurrent attention layer, see {@link RecurrentAttentionTwin}. */
final class RecurrentAttentionPass {
    // The place of each parameter among all of them.
    private static final int INPUT = 0;
    private static final int RECURRENT = 1;
    private static final int QUERY = 2;
    private static final int KEY = 3;
    private static final int OUTPUT = 5;
    private static final int BIAS = 6;

    /**
     * The numbers of a forward pass, each with all time steps.
     *
     * @param sums FLOAT, the function's arguments
     * @param values FLOAT, the function's values
     * @param outputs the values rounded
     * @param keys the keys and values
     * @param queries unused in the first time step
     * @param attended what heads return, unused in the first time step
     * @param projected their projection, unused in the first time step
     */
    record Trace(
            INDArray sums,
            INDArray values,
            INDArray outputs,
            INDArray keys,
            INDArray queries,
            INDArray attended,
            INDArray projected) {}

    private final OneDnnContext context;
    private final RecurrentAttentionLayer ours;
    private final DataType dataType;
    private final RecurrentAttentionKernels primitives;
    private final WeightCopy weights;
    private final INDArray input;
    private final INDArray params;
    private final INDArray gradients;
    private final INDArray maskArray;

    /**
     * @param weights memory for a copy of all parameters in the type of products
     * @param params all of them in a row
     * @param gradients those of the parameters, in the same order
     * @param maskArray {@code [minibatch, time]}; null for none
     */
    RecurrentAttentionPass(
            OneDnnContext context,
            RecurrentAttentionLayer ours,
            DataType dataType,
            RecurrentAttentionKernels primitives,
            WeightCopy weights,
            INDArray input,
            INDArray params,
            INDArray gradients,
            INDArray maskArray) {
        this.context = context;
        this.ours = ours;
        this.dataType = dataType;
        this.primitives = primitives;
        this.weights = weights;
        this.input = input;
        this.params = params;
        this.gradients = gradients;
        this.maskArray = maskArray;
    }

    /** Returns the index of a parameter's first number: W, R, Wq, Wk, Wv, Wo, b follow each other. */
    private long first(int parameter) {
        long width = width();
        long[] lengths = {
            ours.getNIn() * ours.getNOut(),
            ours.getNOut() * ours.getNOut(),
            width * ours.getNOut(),
            width * ours.getNIn(),
            width * ours.getNIn(),
            width * ours.getNOut()
        };
        long first = 0;
        for (int i = 0; i < parameter; i++) {
            first += lengths[i];
        }
        return first;
    }

    private long width() {
        return ours.getNHeads() * ours.getHeadSize();
    }

    private Place weight(int parameter) {
        long first = first(parameter);
        return dataType == DataType.FLOAT
                ? Slab.of(params).plus(first).place()
                : weights.place(first * dataType.width());
    }

    private void takeWeights() {
        if (dataType != DataType.FLOAT && !weights.isCurrent()) {
            primitives.round.copy(Place.of(params), weights.place(0));
            weights.takenBy(primitives);
        }
    }

    /** Returns {@code [minibatch, size, time]} as {@code [time, minibatch, size]}, the order in memory. */
    private INDArray timeFirst(INDArray sequences, DataType type, AttentionMemory memory) {
        INDArray turned = sequences.permute(2, 0, 1);
        INDArray copy = memory.create(type, turned.shape());
        context.copies().copyOrAssign(turned, copy);
        return copy;
    }

    private INDArray mask(AttentionMemory memory) {
        return AttentionMasks.ofKeys(maskArray).summands(input, memory);
    }

    private static ScaledDotProduct.Operands operands(Slab queries, INDArray keys, long width, INDArray mask) {
        return new ScaledDotProduct.Operands(
                queries, Slab.of(keys), Slab.of(keys).plus(width), mask == null ? null : Slab.of(mask));
    }

    /** Runs forward. */
    Trace forward(boolean training, AttentionMemory working, AttentionMemory lasting) {
        SequenceShape shape = primitives.shape;
        long width = primitives.width;
        long[] all = {shape.steps(), shape.minibatch(), shape.units()};
        takeWeights();
        INDArray x = timeFirst(input, dataType, working);
        INDArray mask = mask(working);
        Trace trace = new Trace(
                lasting.create(DataType.FLOAT, all),
                lasting.create(DataType.FLOAT, all),
                lasting.create(dataType, all),
                lasting.create(dataType, shape.minibatch(), shape.steps(), 2 * width),
                lasting.create(dataType, shape.steps(), shape.minibatch(), width),
                lasting.create(dataType, shape.steps(), shape.minibatch(), width),
                lasting.create(dataType, all));
        if (ours.isHasBias()) {
            primitives.input.bind(BlockProduct.SUMMAND, Slab.of(params).plus(first(BIAS)));
        }
        run(primitives.input, Place.of(x), weight(INPUT), Place.of(trace.sums()));
        run(primitives.keys, Place.of(byExample(input, working)), weight(KEY), Place.of(trace.keys()));
        for (long t = 0; t < shape.steps(); t++) {
            long at = t * shape.block();
            if (t > 0) {
                Slab query = Slab.of(trace.queries()).plus(t * shape.minibatch() * width);
                Slab attended = Slab.of(trace.attended()).plus(t * shape.minibatch() * width);
                Slab projected = Slab.of(trace.projected()).plus(at);
                run(primitives.query, Slab.of(trace.outputs()).plus(at - shape.block()), weight(QUERY), query);
                primitives.attention.forward(operands(query, trace.keys(), width, mask), attended);
                run(primitives.attended, attended, weight(OUTPUT), projected);
                run(
                        primitives.recurrent,
                        projected,
                        weight(RECURRENT),
                        Slab.of(trace.sums()).plus(at));
            }
            Slab values = Slab.of(trace.values()).plus(at);
            primitives.function.forward(Slab.of(trace.sums()).plus(at), values, training);
            primitives.steps.round(values, Slab.of(trace.outputs()).plus(at));
        }
        return trace;
    }

    /** Runs backward, and returns the gradient of the input, null if it's unwanted. */
    INDArray backward(
            Trace trace,
            INDArray epsilon,
            boolean inputGradientWanted,
            AttentionMemory memory,
            LayerWorkspaceMgr workspaceMgr) {
        SequenceShape shape = primitives.shape;
        long width = primitives.width;
        long block = shape.block();
        long heads = shape.minibatch() * width;
        long[] all = {shape.steps(), shape.minibatch(), shape.units()};
        takeWeights();
        INDArray x = byExample(input, memory);
        INDArray mask = mask(memory);
        INDArray error = timeFirst(epsilon, DataType.FLOAT, memory).muli(ExternalErrors.factor());
        INDArray slopes = memory.create(DataType.FLOAT, all).assign(1);
        primitives.function.backward(
                Slab.of(primitives.function.needsArguments() ? trace.sums() : trace.values()),
                Slab.of(slopes),
                Slab.of(slopes));
        INDArray deltas = memory.create(dataType, all);
        INDArray projected = memory.create(dataType, all);
        INDArray attended = memory.create(dataType, shape.steps(), shape.minibatch(), width);
        INDArray queries = memory.create(dataType, shape.steps(), shape.minibatch(), width);
        INDArray keys = memory.create(dataType, shape.minibatch(), shape.steps(), 2 * width);
        for (long t = shape.steps() - 1; t >= 0; t--) {
            Slab errorNow = Slab.of(error).plus(t * block);
            Slab delta = Slab.of(deltas).plus(t * block);
            primitives.steps.multiply(errorNow, Slab.of(slopes).plus(t * block), errorNow);
            primitives.steps.round(errorNow, delta);
            if (t > 0) {
                Slab ofProjected = Slab.of(projected).plus(t * block);
                Slab ofAttended = Slab.of(attended).plus(t * heads);
                Slab ofQuery = Slab.of(queries).plus(t * heads);
                run(primitives.recurrentBackward, delta, weight(RECURRENT), ofProjected);
                run(primitives.attendedBackward, ofProjected, weight(OUTPUT), ofAttended);
                Slab query = Slab.of(trace.queries()).plus(t * heads);
                primitives.attention.backwardQueries(operands(query, trace.keys(), width, mask), ofAttended, ofQuery);
                run(
                        primitives.queryBackward,
                        ofQuery,
                        weight(QUERY),
                        Slab.of(error).plus((t - 1) * block));
            }
        }
        INDArray deltasByExample = byExample(Views.permuted(deltas, 1, 2, 0), memory);
        run(primitives.inputWeights, Place.of(x), Place.of(deltasByExample), gradient(INPUT));
        if (ours.isHasBias()) {
            run(primitives.biasGradient, Place.of(primitives.ones), Place.of(deltas), gradient(BIAS));
        }
        if (shape.steps() > 1) {
            keyGradients(trace, attended, mask, keys, memory);
            Place laterDeltas = Slab.of(deltas).plus(block).place();
            Place laterProjected = Slab.of(projected).plus(block).place();
            run(
                    primitives.laterWeights.get(0),
                    Slab.of(trace.projected()).plus(block).place(),
                    laterDeltas,
                    gradient(RECURRENT));
            run(
                    primitives.laterWeights.get(1),
                    Slab.of(queries).plus(heads).place(),
                    Place.of(trace.outputs()),
                    gradient(QUERY));
            run(
                    primitives.laterWeights.get(2),
                    Slab.of(trace.attended()).plus(heads).place(),
                    laterProjected,
                    gradient(OUTPUT));
            run(primitives.keyWeights, Place.of(keys), Place.of(x), gradient(KEY));
        } else {
            Slab.of(gradients)
                    .plus(first(RECURRENT))
                    .vector(first(BIAS) - first(RECURRENT))
                    .assign(0);
        }
        if (!inputGradientWanted) {
            return null;
        }
        INDArray sum = memory.channelsLast(DataType.FLOAT, x.shape());
        run(primitives.inputGradient, Place.of(deltasByExample), weight(INPUT), Place.of(sum));
        if (shape.steps() > 1) {
            run(primitives.inputGradientOfKeys, Place.of(keys), weight(KEY), Place.of(sum));
        }
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, x.shape());
        context.copies().copy(sum, next);
        return next;
    }

    /** Computes the gradients of keys and values: now the queries of all time steps are known. */
    private void keyGradients(Trace trace, INDArray attended, INDArray mask, INDArray keys, AttentionMemory memory) {
        INDArray queries = laterByExample(trace.queries(), memory);
        primitives.attentionOfAll.backward(
                operands(Slab.of(queries), trace.keys(), primitives.width, mask),
                Slab.of(laterByExample(attended, memory)),
                new ScaledDotProduct.Gradients(
                        Slab.of(memory.create(dataType, queries.shape())),
                        Slab.of(keys),
                        Slab.of(keys).plus(primitives.width)));
    }

    /** Returns all time steps but the first of {@code [time, minibatch, size]}, by example. */
    private INDArray laterByExample(INDArray timeFirst, AttentionMemory memory) {
        INDArray later = Workspaces.range(timeFirst, 0, 1, timeFirst.size(0) - 1);
        return byExample(later.permute(1, 2, 0), memory);
    }

    /** Returns {@code [minibatch, size, time]} with the time steps of an example one after the other in memory. */
    private INDArray byExample(INDArray sequences, AttentionMemory memory) {
        return context.copies().channelsLast(sequences, dataType, memory.workspaceMgr(), memory.place());
    }

    private Place gradient(int parameter) {
        return Slab.of(gradients).plus(first(parameter)).place();
    }
}
