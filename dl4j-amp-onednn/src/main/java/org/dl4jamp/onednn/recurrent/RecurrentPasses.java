package org.dl4jamp.onednn.recurrent;

import java.util.Optional;
import java.util.function.BiFunction;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.cell.LastState;
import org.dl4jamp.onednn.cell.LstmInference;
import org.dl4jamp.onednn.cell.RecurrentCell;
import org.dl4jamp.onednn.cell.RecurrentParameters;
import org.dl4jamp.onednn.cell.RecurrentState;
import org.dl4jamp.onednn.cell.SequenceMemory;
import org.dl4jamp.onednn.cell.Sequences;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Forward and backward passes of a recurrent layer over {@code [minibatch, size, time]}, in memory time step by time
 * step. A training pass is kept for the backward pass if DL4J's workspaces allow it, else computed again.
 */
final class RecurrentPasses implements AutoCloseable {
    private final OneDnnContext context;
    private final DataType type;
    private final int gates;
    private final BiFunction<SequenceShape, WeightCopy, RecurrentCell> maker;
    private final KernelCache<SequenceShape, RecurrentCell> cells = new KernelCache<>(LstmInference.SHAPES);
    private final WeightCopy weights;
    private final Optional<LstmInference> inference;
    private RecurrentCell.Trace kept;
    private RecurrentState keptFrom;
    private INDArray keptMask;
    private boolean inputGradientUnwanted;
    private boolean hasTruncated;

    /** @param inference computes in inference mode, where it can */
    RecurrentPasses(
            OneDnnContext context,
            DataType type,
            int gates,
            BiFunction<SequenceShape, WeightCopy, RecurrentCell> maker,
            Optional<LstmInference> inference) {
        this.context = context;
        this.type = type;
        this.gates = gates;
        this.weights = new WeightCopy(context.infers());
        this.maker = maker;
        this.inference = inference;
    }

    private RecurrentCell cell(Sequences sequences) {
        SequenceShape shape = sequences.shape(gates);
        return cells.get(shape, () -> maker.apply(shape, weights));
    }

    Twin.Weights weights() {
        return inference
                .<Twin.Weights>map(other -> OneDnnTwin.both(weights, other))
                .orElse(weights);
    }

    /** Returns {@code [minibatch, size, time]} as {@code [time, minibatch, size]}, the order in memory, in a type. */
    INDArray timeFirst(INDArray sequences, DataType wanted, SequenceMemory memory) {
        INDArray turned = Views.permuted(sequences, 2, 0, 1);
        boolean usual = Layout.dense(wanted, turned.shape()).isThatOf(turned);
        return usual ? turned : copy(turned, memory.create(wanted, turned.shape()));
    }

    private INDArray copy(INDArray from, INDArray to) {
        context.copies().copyOrAssign(from, to);
        return to;
    }

    /** Returns {@code [time, minibatch]}. */
    private INDArray mask(Sequences sequences, SequenceMemory memory) {
        if (sequences.mask() == null) {
            return null;
        }
        INDArray turned = sequences.mask().transpose();
        return copy(turned, memory.create(DataType.FLOAT, turned.shape()));
    }

    /**
     * Runs a forward pass.
     *
     * @param lastState takes the state after it, outside workspaces; null if unused
     * @return {@code [time, minibatch, units]}, to be read only, and while the layer has its turn
     */
    INDArray outputs(Sequences sequences, boolean training, LastState lastState, LayerWorkspaceMgr workspaceMgr) {
        if (infers(sequences, training)) {
            return inferred(sequences, lastState, workspaceMgr, ArrayType.FF_WORKING_MEM);
        }
        forget();
        sequences.requireFit();
        boolean keeps = training && Workspaces.staysUntilBackward(workspaceMgr);
        SequenceMemory working = new SequenceMemory(workspaceMgr, ArrayType.FF_WORKING_MEM);
        SequenceMemory lasting = keeps ? new SequenceMemory(workspaceMgr, ArrayType.ACTIVATIONS) : working;
        RecurrentCell.Trace trace = run(sequences, training, keeps, hasTruncated, working, lasting);
        if (lastState != null) {
            lastState.take(copied(trace.last(), lastState.room()));
        }
        kept = keeps ? trace : null;
        keptFrom = sequences.initial();
        keptMask = sequences.mask();
        return trace.outputsOfSteps();
    }

    /**
     * Runs a forward pass, see {@link #outputs}.
     *
     * @return {@code [minibatch, units, time]}
     */
    INDArray forward(Sequences sequences, boolean training, LastState lastState, LayerWorkspaceMgr workspaceMgr) {
        if (infers(sequences, training)) {
            return Views.permuted(inferred(sequences, lastState, workspaceMgr, ArrayType.ACTIVATIONS), 1, 2, 0);
        }
        INDArray outputs = outputs(sequences, training, lastState, workspaceMgr);
        INDArray activations = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, type, outputs.shape());
        context.copies().copy(outputs, activations);
        return Views.permuted(activations, 1, 2, 0);
    }

    private boolean infers(Sequences sequences, boolean training) {
        return !training && sequences.mask() == null && inference.isPresent();
    }

    /** Runs a forward pass by {@link #inference}, see {@link #outputs}. */
    private INDArray inferred(
            Sequences sequences, LastState lastState, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        sequences.requireFit();
        INDArray x = timeFirst(sequences.input(), type, new SequenceMemory(workspaceMgr, ArrayType.FF_WORKING_MEM));
        return inference.orElseThrow().outputs(sequences, x, lastState, new SequenceMemory(workspaceMgr, place));
    }

    private RecurrentCell.Trace run(
            Sequences sequences,
            boolean training,
            boolean keeps,
            boolean truncates,
            SequenceMemory working,
            SequenceMemory lasting) {
        return cell(sequences)
                .forward(new RecurrentCell.Forward(
                        timeFirst(sequences.input(), type, working),
                        sequences.parameters(),
                        sequences.initial(),
                        mask(sequences, working),
                        training,
                        keeps,
                        truncates,
                        working,
                        lasting));
    }

    /** Returns a copy of a state outside of workspaces. */
    private RecurrentState copied(RecurrentState state, Optional<RecurrentState> room) {
        if (room.isPresent()) {
            copy(state.output(), room.get().output());
            if (state.memory() != null) {
                copy(state.memory(), room.get().memory());
            }
            return new RecurrentState(room.get().output(), room.get().memory());
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return new RecurrentState(
                    state.output().dup(),
                    state.memory() == null ? null : state.memory().dup());
        }
    }

    /**
     * Runs a backward pass.
     *
     * @param epsilon {@code [minibatch, units, time]}
     * @param backSteps how many time steps gradients flow back; all if it isn't positive
     * @param lastState takes the state after the last time step; null if unused
     * @return the gradient of the input, {@code [minibatch, nIn, time]}; null if unused
     */
    INDArray backward(
            Sequences sequences,
            INDArray epsilon,
            long backSteps,
            RecurrentParameters gradients,
            LastState lastState,
            LayerWorkspaceMgr workspaceMgr,
            ArrayType destination) {
        INDArray input = sequences.input();
        sequences.requireFit();
        sequences.requireFits(epsilon);
        SequenceMemory memory = new SequenceMemory(workspaceMgr, ArrayType.BP_WORKING_MEM);
        long steps = input.size(2);
        long firstStep = backSteps > 0 ? Math.max(0, steps - backSteps) : 0;
        boolean truncates = firstStep > 0;
        hasTruncated |= truncates;
        boolean usesKept = kept != null
                && sequences.initial().isSameAs(keptFrom)
                && sequences.mask() == keptMask
                && (kept.isTruncatable() || !truncates);
        RecurrentCell.Trace trace = usesKept ? kept : run(sequences, true, true, truncates, memory, memory);
        forget();
        if (lastState != null) {
            lastState.take(copied(trace.last(), lastState.room()));
        }
        INDArray turned = epsilon.permute(2, 0, 1);
        INDArray x = timeFirst(input, type, memory);
        INDArray next = inputGradientUnwanted ? null : Workspaces.dense(workspaceMgr, destination, type, x.shape());
        cell(sequences)
                .backward(
                        trace,
                        new RecurrentCell.Backward(
                                x,
                                sequences.parameters(),
                                copy(turned, memory.create(DataType.FLOAT, turned.shape())),
                                mask(sequences, memory),
                                firstStep,
                                gradients,
                                next,
                                memory));
        return next == null ? null : next.permute(1, 2, 0);
    }

    /** Makes {@link #backward} leave out the gradient of the input, or compute it. */
    void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    /** Makes the next backward pass run forward again. */
    void forget() {
        kept = null;
        keptFrom = null;
        keptMask = null;
    }

    @Override
    public void close() {
        forget();
        cells.close();
        weights.close();
        inference.ifPresent(LstmInference::close);
    }
}
