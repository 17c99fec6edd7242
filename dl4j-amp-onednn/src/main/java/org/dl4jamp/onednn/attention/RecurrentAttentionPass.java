package org.dl4jamp.onednn.attention;

import static org.dl4jamp.onednn.attention.RecurrentAttentionKernels.run;

import java.util.function.LongFunction;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.onednn.activation.StepDerivative;
import org.dl4jamp.onednn.attention.RecurrentAttentionWeights.Of;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.BlockProduct;
import org.dl4jamp.onednn.scores.ScaledDotProduct;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A forward or backward pass of a recurrent attention layer, see {@link RecurrentAttentionTwin}. */
final class RecurrentAttentionPass {
    private final OneDnnContext context;
    private final DataType dataType;
    private final RecurrentAttentionKernels primitives;
    private final RecurrentAttentionWeights weights;
    private final boolean projects;
    private final INDArray input;
    private final INDArray maskArray;
    private final SequenceShape shape;
    /** The number of numbers in a row of all heads, in one time step of all examples. */
    private final long heads;

    /** @param maskArray {@code [minibatch, time]}; null for none */
    RecurrentAttentionPass(
            OneDnnContext context,
            RecurrentAttentionKernels primitives,
            RecurrentAttentionWeights weights,
            INDArray input,
            INDArray maskArray) {
        this.context = context;
        this.dataType = weights.type();
        this.primitives = primitives;
        this.weights = weights;
        this.projects = weights.layer().isProjectInput();
        this.input = input;
        this.maskArray = maskArray;
        this.shape = primitives.shape;
        this.heads = shape.minibatch() * primitives.width;
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

    private ScaledDotProduct.Operands operands(Slab queries, INDArray keys, INDArray mask) {
        Slab all = Slab.of(keys);
        return new ScaledDotProduct.Operands(
                queries, all, projects ? all.plus(primitives.width) : all, mask == null ? null : Slab.of(mask));
    }

    private INDArray create(AttentionMemory memory, DataType type, long size) {
        return memory.create(type, shape.steps(), shape.minibatch(), size);
    }

    private RecurrentAttentionTrace trace(INDArray byExample, AttentionMemory lasting) {
        long units = shape.units();
        INDArray outputs = create(lasting, dataType, units);
        INDArray projected = create(lasting, dataType, units);
        INDArray keys = null;
        if (projects) {
            keys = lasting.create(dataType, shape.minibatch(), shape.steps(), 2 * primitives.width);
            run(primitives.projection.keys, Place.of(byExample), weights.weight(Of.KEYS), Place.of(keys));
        }
        return new RecurrentAttentionTrace(
                create(lasting, DataType.FLOAT, units),
                create(lasting, DataType.FLOAT, units),
                outputs,
                keys,
                projects ? create(lasting, dataType, primitives.width) : outputs,
                projects ? create(lasting, dataType, primitives.width) : projected,
                projected);
    }

    private INDArray keys(RecurrentAttentionTrace trace, INDArray byExample) {
        return projects ? trace.keys() : byExample;
    }

    /** Returns the queries of a time step but the first. */
    private Slab queries(RecurrentAttentionTrace trace, long t) {
        return Slab.of(trace.queries()).plus((projects ? t : t - 1) * heads);
    }

    /** Runs forward. */
    RecurrentAttentionTrace forward(boolean training, AttentionMemory working, AttentionMemory lasting) {
        weights.take(primitives);
        INDArray x = timeFirst(input, dataType, working);
        INDArray mask = mask(working);
        INDArray byExample = byExample(input, working);
        RecurrentAttentionTrace trace = trace(byExample, lasting);
        INDArray keys = keys(trace, byExample);
        if (weights.layer().isHasBias()) {
            primitives.input.bind(BlockProduct.SUMMAND, weights.bias());
        }
        run(primitives.input, Place.of(x), weights.weight(Of.INPUT), Place.of(trace.sums()));
        for (long t = 0; t < shape.steps(); t++) {
            long at = t * shape.block();
            Slab sums = Slab.of(trace.sums()).plus(at);
            if (t > 0) {
                Slab query = queries(trace, t);
                Slab attended = Slab.of(trace.attended()).plus(t * heads);
                Slab projected = Slab.of(trace.projected()).plus(at);
                if (projects) {
                    Slab before = Slab.of(trace.outputs()).plus(at - shape.block());
                    run(primitives.projection.query, before, weights.weight(Of.QUERIES), query);
                }
                primitives.attention.forward(operands(query, keys, mask), attended);
                if (projects) {
                    run(primitives.projection.attended, attended, weights.weight(Of.OUTPUT), projected);
                }
                run(primitives.recurrent, projected, weights.weight(Of.RECURRENT), sums);
            }
            Slab values = Slab.of(trace.values()).plus(at);
            primitives.function.forward(sums, values, training);
            primitives.steps.round(values, Slab.of(trace.outputs()).plus(at));
        }
        return trace;
    }

    /** Returns what multiplies gradients of the function's values by its derivative. */
    private StepDerivative derivative(RecurrentAttentionTrace trace, AttentionMemory memory) {
        Slab sums = Slab.of(trace.sums());
        Slab values = Slab.of(trace.values());
        return primitives.function.derivative(sums, values).orElseGet(() -> {
            Slab slopes = Slab.of(create(memory, DataType.FLOAT, shape.units()).assign(1));
            primitives.function.backward(primitives.function.needsArguments() ? sums : values, slopes, slopes);
            return (t, gradient) -> primitives.steps.multiply(gradient, slopes.plus(t * shape.block()), gradient);
        });
    }

    /** Gradients of the sums, of what enters {@code R}, of what heads return, and of queries. */
    private record Deltas(INDArray sums, INDArray projected, INDArray attended, INDArray queries) {}

    /** Runs through the time steps from the last to the first. */
    private Deltas deltas(
            RecurrentAttentionTrace trace, INDArray keys, INDArray error, INDArray mask, AttentionMemory memory) {
        StepDerivative derivative = derivative(trace, memory);
        INDArray ofProjected = create(memory, dataType, shape.units());
        Deltas deltas = new Deltas(
                create(memory, dataType, shape.units()),
                ofProjected,
                projects ? create(memory, dataType, primitives.width) : ofProjected,
                create(memory, primitives.gradientType, primitives.width));
        LongFunction<Slab> errors = t -> Slab.of(error).plus(t * shape.block());
        for (long t = shape.steps() - 1; t >= 0; t--) {
            Slab delta = Slab.of(deltas.sums()).plus(t * shape.block());
            derivative.multiply(t, errors.apply(t));
            primitives.steps.round(errors.apply(t), delta);
            if (t > 0) {
                Slab projected = Slab.of(deltas.projected()).plus(t * shape.block());
                Slab attended = Slab.of(deltas.attended()).plus(t * heads);
                Slab query = Slab.of(deltas.queries()).plus(t * heads);
                run(primitives.recurrentBackward, delta, weights.weight(Of.RECURRENT), projected);
                if (projects) {
                    run(primitives.projection.attendedBackward, projected, weights.weight(Of.OUTPUT), attended);
                }
                primitives.attention.backwardQueries(operands(queries(trace, t), keys, mask), attended, query);
                if (projects) {
                    run(primitives.projection.queryBackward, query, weights.weight(Of.QUERIES), errors.apply(t - 1));
                } else {
                    errors.apply(t - 1).vector(shape.block()).addi(query.vector(shape.block()));
                }
            }
        }
        return deltas;
    }

    /** Runs backward, and returns the gradient of the input, null if it's unwanted. */
    INDArray backward(
            RecurrentAttentionTrace trace,
            INDArray epsilon,
            boolean inputGradientWanted,
            AttentionMemory memory,
            LayerWorkspaceMgr workspaceMgr) {
        weights.take(primitives);
        INDArray x = byExample(input, memory);
        INDArray mask = mask(memory);
        INDArray error = timeFirst(epsilon, DataType.FLOAT, memory).muli(ExternalErrors.factor());
        Deltas deltas = deltas(trace, keys(trace, x), error, mask, memory);
        INDArray deltasByExample = byExample(Views.permuted(deltas.sums(), 1, 2, 0), memory);
        run(primitives.inputWeights, Place.of(x), Place.of(deltasByExample), weights.gradient(Of.INPUT));
        if (weights.layer().isHasBias()) {
            run(primitives.biasGradient, Place.of(primitives.ones), Place.of(deltas.sums()), weights.gradient(Of.BIAS));
        }
        if (shape.steps() == 1) {
            weights.clearRecurrentGradients();
        } else {
            recurrentGradients(trace, deltas);
        }
        INDArray sum = inputGradientWanted ? memory.channelsLast(DataType.FLOAT, x.shape()) : null;
        if (inputGradientWanted) {
            run(primitives.inputGradient, Place.of(deltasByExample), weights.weight(Of.INPUT), Place.of(sum));
        }
        if (shape.steps() > 1 && (inputGradientWanted || projects)) {
            addGradientsOfKeys(trace, deltas, x, mask, sum, memory);
        }
        if (!inputGradientWanted) {
            return null;
        }
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, x.shape());
        context.copies().copy(sum, next);
        return next;
    }

    /** Computes the gradients of R, Wq and Wo. */
    private void recurrentGradients(RecurrentAttentionTrace trace, Deltas deltas) {
        long block = shape.block();
        run(
                primitives.recurrentWeights,
                Slab.of(trace.projected()).plus(block).place(),
                Slab.of(deltas.sums()).plus(block).place(),
                weights.gradient(Of.RECURRENT));
        if (projects) {
            run(
                    primitives.projection.queryWeights,
                    Slab.of(deltas.queries()).plus(heads).place(),
                    Place.of(trace.outputs()),
                    weights.gradient(Of.QUERIES));
            run(
                    primitives.projection.outputWeights,
                    Slab.of(trace.attended()).plus(heads).place(),
                    Slab.of(deltas.projected()).plus(block).place(),
                    weights.gradient(Of.OUTPUT));
        }
    }

    /**
     * Computes the gradients of keys and values, now that the queries of all time steps are known, and those of their
     * weights.
     *
     * @param sum the gradient of the input, to which these are added; null if it's unwanted
     */
    private void addGradientsOfKeys(
            RecurrentAttentionTrace trace,
            Deltas deltas,
            INDArray x,
            INDArray mask,
            INDArray sum,
            AttentionMemory memory) {
        INDArray queries = byExample(trace.queries(), projects ? 1 : 0, memory);
        INDArray attended = byExample(deltas.attended(), 1, memory);
        long size = projects ? 2 * primitives.width : primitives.width;
        INDArray keys = memory.create(primitives.gradientType, shape.minibatch(), shape.steps(), size);
        INDArray values = projects ? keys : memory.create(primitives.gradientType, keys.shape());
        primitives.attentionOfAll.backward(
                operands(Slab.of(queries), keys(trace, x), mask),
                Slab.of(attended),
                new ScaledDotProduct.Gradients(
                        Slab.of(memory.create(primitives.gradientType, queries.shape())),
                        Slab.of(keys),
                        Slab.of(values).plus(projects ? primitives.width : 0)));
        if (projects) {
            run(primitives.projection.keyWeights, Place.of(keys), Place.of(x), weights.gradient(Of.KEYS));
        }
        if (sum != null && projects) {
            run(primitives.projection.inputGradient, Place.of(keys), weights.weight(Of.KEYS), Place.of(sum));
        } else if (sum != null) {
            sum.permute(0, 2, 1).addi(keys).addi(values);
        }
    }

    /** Returns all time steps but one of {@code [time, minibatch, size]}, by example. */
    private INDArray byExample(INDArray timeFirst, long first, AttentionMemory memory) {
        INDArray part = Workspaces.range(timeFirst, 0, first, timeFirst.size(0) - 1);
        return byExample(part.permute(1, 2, 0), memory);
    }

    /** Returns {@code [minibatch, size, time]} with the time steps of an example one after the other in memory. */
    private INDArray byExample(INDArray sequences, AttentionMemory memory) {
        return context.copies().channelsLast(sequences, dataType, memory.workspaceMgr(), memory.place());
    }
}
