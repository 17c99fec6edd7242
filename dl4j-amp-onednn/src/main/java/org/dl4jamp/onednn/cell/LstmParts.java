package org.dl4jamp.onednn.cell;

import java.util.List;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Parts;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An LSTM in inference for one shape of its input, whose examples are shared among threads. Each computes all time
 * steps of its examples. Where that costs time, all threads share the products of each time step.
 */
final class LstmParts implements AutoCloseable {
    /** With fewer examples a thread takes longer for its products than all threads for those of all examples. */
    private static final int LEAST_EXAMPLES = 8;

    /** The largest part may exceed its share by a 32nd. */
    private static final int SHARES_PER_EXCESS = 32;

    /** One or two milliseconds. Starting the other threads, and waiting for them, may take a tenth of one. */
    private static final double LEAST_OPERATIONS = 1L << 29;

    private final OneDnnContext context;
    private final DataType type;
    private final SequenceShape shape;
    private final List<InferringLstm> parts;

    /** @param count the number of parts; one for all threads together */
    LstmParts(
            OneDnnContext context,
            String layer,
            DataType type,
            SequenceShape shape,
            LstmInference.Weights weights,
            int count) {
        this.context = context;
        this.type = type;
        this.shape = shape;
        this.parts = count == 1
                ? List.of(InferringLstm.make(
                        context, layer, type, InferringLstm.Examples.all(shape), LstmDescription.step(shape), weights))
                : IntStream.range(0, count)
                        .mapToObj(part -> InferringLstm.make(
                                context.parts().context(part),
                                layer,
                                type,
                                InferringLstm.Examples.part(shape, part, count),
                                Work.ALONE,
                                weights))
                        .toList();
    }

    /** Returns the number of parts for the calling thread's number of OpenMP threads. */
    static int count(SequenceShape shape) {
        int threads = Work.threads();
        return Parts.areProcessorsFree() && pays(shape, threads) ? threads : 1;
    }

    /** Returns whether each of some threads computes its part of the examples as fast as all of them do. */
    static boolean pays(SequenceShape shape, int threads) {
        long minibatch = shape.minibatch();
        long excess = Math.floorMod(-minibatch, (long) threads);
        double operations = shape.steps() * LstmDescription.step(shape).operations();
        return threads > 1
                && minibatch >= (long) LEAST_EXAMPLES * threads
                && excess * SHARES_PER_EXCESS <= minibatch
                && operations >= LEAST_OPERATIONS * threads;
    }

    /**
     * Runs a forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param outputs where the outputs go: {@code [steps, minibatch, units]}
     * @param lastState takes the state after the last time step; null if unused
     */
    void run(
            INDArray x, RecurrentParameters parameters, RecurrentState initial, INDArray outputs, LastState lastState) {
        RecurrentState known = lastState == null ? initial : lastState.withRounded(initial);
        RecurrentState before = new RecurrentState(rows(known.output()), rows(known.memory()), known.rounded());
        RecurrentState after = lastState == null ? null : room(lastState);
        // All parts share the copies of weights, which a first pass makes.
        parts.forEach(part -> part.take(parameters));
        if (parts.size() == 1) {
            parts.get(0).run(x, before, outputs, after);
        } else {
            context.parts()
                    .run(parts.stream()
                            .map(part -> (Runnable) () -> part.run(x, before, outputs, after))
                            .toList());
        }
        if (after != null) {
            lastState.take(after);
        }
    }

    /** Returns arrays for the state after the pass, and one for rounded outputs unless the layer's type is FP32. */
    private RecurrentState room(LastState lastState) {
        RecurrentState room = lastState
                .room()
                .orElseGet(() -> new RecurrentState(stateArray(DataType.FLOAT), stateArray(DataType.FLOAT)));
        return type == DataType.FLOAT || room.rounded() != null
                ? room
                : new RecurrentState(room.output(), room.memory(), stateArray(type));
    }

    private INDArray stateArray(DataType wanted) {
        return Workspaces.dense(
                LayerWorkspaceMgr.noWorkspaces(), ArrayType.ACTIVATIONS, wanted, shape.minibatch(), shape.units());
    }

    /** Returns the numbers of an array that a program may have set, in FP32 and row by row; null of null. */
    private INDArray rows(INDArray state) {
        boolean usual = state == null
                || Layout.dense(DataType.FLOAT, shape.minibatch(), shape.units())
                        .isThatOf(state);
        return usual ? state : state.castTo(DataType.FLOAT).dup('c');
    }

    @Override
    public void close() {
        parts.forEach(InferringLstm::close);
    }
}
