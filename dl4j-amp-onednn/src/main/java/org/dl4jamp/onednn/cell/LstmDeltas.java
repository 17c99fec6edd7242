package org.dl4jamp.onednn.cell;

import java.util.Optional;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.TimeStepKernels;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The backward pass of an LSTM time step by time step. Gradients of memory cells are FP32. */
final class LstmDeltas implements RecurrentCell.Deltas {
    private final SequenceShape shape;
    private final TimeStepKernels steps;
    private final LstmTrace trace;
    private final RecurrentCell.Backward pass;
    private final Optional<Peepholes> peepholes;
    private final Slab memoryError;
    private final Slab deltas;
    private final Slab memories;
    private final Slab products;

    LstmDeltas(
            OneDnnContext context,
            DataType type,
            TimeStepKernels steps,
            Optional<Peepholes> peepholes,
            LstmTrace trace,
            RecurrentCell.Backward pass) {
        this.shape = trace.shape();
        this.steps = steps;
        this.trace = trace;
        this.pass = pass;
        this.peepholes = peepholes;
        this.memoryError = Slab.of(pass.memory().create(DataType.FLOAT, 1, shape.block()));
        this.deltas = Slab.of(pass.memory().create(type, LstmCell.GATES, shape.block()));
        this.memories = peepholes.isPresent() ? Slab.of(floats(context, trace.memories(), pass.memory())) : null;
        this.products =
                peepholes.map(weights -> weights.noProducts(pass.memory())).orElse(null);
    }

    private static INDArray floats(OneDnnContext context, INDArray numbers, SequenceMemory memory) {
        return numbers.dataType() == DataType.FLOAT ? numbers : memory.copy(context, DataType.FLOAT, numbers);
    }

    private Slab delta(int gate) {
        return deltas.plus(gate * shape.block());
    }

    @Override
    public Slab of(long time, Slab error) {
        if (time == shape.steps() - 1) {
            steps.multiplyByKept(error, trace.ofOutput(time), memoryError);
        } else {
            steps.multiply(memoryError, trace.ofMemory(time + 1), memoryError);
            steps.multiplyAddKept(error, trace.ofOutput(time), memoryError);
        }
        // Computes that of the output gate, too, which the next line replaces: one primitive takes less time than two.
        steps.deltas(trace.ofGate(0, time), memoryError, deltas);
        steps.delta(trace.ofGate(LstmCell.OUTPUT, time), error, delta(LstmCell.OUTPUT));
        peepholes.ifPresent(weights -> {
            addProducts(weights, LstmCell.FORGET, time);
            addProducts(weights, LstmCell.INPUT_GATE, time);
            addProducts(weights, LstmCell.OUTPUT, time + 1);
        });
        return deltas;
    }

    private void addProducts(Peepholes weights, int gate, long time) {
        weights.addProducts(gate, memories.plus(time * shape.block()), delta(gate), products);
    }

    @Override
    public void finish() {
        peepholes.ifPresent(
                weights -> weights.gradients(products, pass.gradients().recurrentWeights()));
    }
}
