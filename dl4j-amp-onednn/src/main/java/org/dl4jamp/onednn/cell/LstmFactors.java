package org.dl4jamp.onednn.cell;

import java.util.Optional;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Computes the {@linkplain LstmTrace factors} of an LSTM's gradients for all time steps at once, in FP32. */
final class LstmFactors implements AutoCloseable {
    private final OneDnnContext context;
    private final SequenceShape shape;
    private final DataType type;
    private final CellFunction activation;
    private final CellFunction gate;
    private final Optional<Peepholes> peepholes;
    private final Kernel mask;
    private final Kernel intoGates;

    /**
     * @param activation to be closed by the caller, as the other function and the peepholes
     * @param gate the gates' function
     */
    static LstmFactors make(
            RecurrentCell.Setup setup, CellFunction activation, CellFunction gate, Optional<Peepholes> peepholes) {
        String what = setup.layer() + ": factors of gradients for " + setup.shape();
        return OneDnnContext.make(
                what,
                Work.ofNumbers(setup.shape().gate()),
                () -> new LstmFactors(setup, what, activation, gate, peepholes));
    }

    private LstmFactors(
            RecurrentCell.Setup setup,
            String what,
            CellFunction activation,
            CellFunction gate,
            Optional<Peepholes> peepholes) {
        this.context = setup.context();
        this.shape = setup.shape();
        this.type = setup.type();
        this.activation = activation;
        this.gate = gate;
        this.peepholes = peepholes;
        Layout rows = Layout.dense(DataType.FLOAT, shape.rows(), shape.units());
        binary.primitive_desc masked = new binary.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.algorithm.binary_mul,
                rows.descriptor(),
                Layout.dense(DataType.FLOAT, shape.rows(), 1).descriptor(),
                rows.descriptor(),
                OneDnnContext.attributes(),
                false);
        mask = new Kernel(context, what, masked);
        long[] steps = {shape.steps(), shape.block()};
        intoGates = context.copies()
                .make(
                        what,
                        Layout.dense(DataType.FLOAT, steps).descriptor(),
                        Layout.strided(type, steps, shape.gates() * shape.block(), 1)
                                .descriptor());
    }

    /**
     * Returns the factors of a trace, which is used up. DL4J masks the gradients of the sums of an LSTM with peepholes,
     * but not those of one without. Neither masks what flows back from one memory cell to the one before.
     */
    LstmTrace of(StepTrace trace, RecurrentCell.Forward pass) {
        SequenceMemory lasting = pass.lasting();
        RecurrentState last = new RecurrentState(
                trace.last().output(),
                lasting.copy(context, DataType.FLOAT, trace.last().memory()));
        INDArray memories = peepholes.isPresent() ? lasting.copy(context, type, trace.memories()) : null;
        Slab before = trace.memory(0);
        Slab ofOutputGate = trace.activatedMemory(0);
        Slab ofOutput = trace.value(LstmCell.OUTPUT, 0);
        Slab ofInput = trace.value(LstmCell.INPUT_GATE, 0);
        Slab ofInputGate = Slab.of(pass.working().create(DataType.FLOAT, 1, shape.gate()));
        gate.backward(kept(gate, trace, LstmCell.OUTPUT), ofOutputGate, ofOutputGate);
        activation.backwardFromArguments(trace.memory(1), ofOutput, ofOutput);
        gate.backward(kept(gate, trace, LstmCell.FORGET), before, before);
        gate.backward(kept(gate, trace, LstmCell.INPUT_GATE), trace.value(LstmCell.INPUT, 0), ofInputGate);
        activation.backward(kept(activation, trace, LstmCell.INPUT), ofInput, ofInput);
        Slab ofMemory = trace.value(LstmCell.FORGET, 0);
        peepholes.ifPresent(weights -> {
            INDArray recurrent = pass.parameters().recurrentWeights();
            weights.addAll(LstmCell.OUTPUT, ofOutputGate, recurrent, ofOutput);
            if (pass.mask() != null) {
                mask(pass.mask(), ofInput, before, ofOutputGate, ofInputGate);
            }
            weights.addAll(LstmCell.FORGET, before, recurrent, ofMemory);
            weights.addAll(LstmCell.INPUT_GATE, ofInputGate, recurrent, ofMemory);
        });

        INDArray gates = lasting.create(type, shape.steps(), shape.gates(), shape.block());
        copy(ofInput, gates, LstmCell.INPUT);
        copy(before, gates, LstmCell.FORGET);
        copy(ofOutputGate, gates, LstmCell.OUTPUT);
        copy(ofInputGate, gates, LstmCell.INPUT_GATE);
        return new LstmTrace(
                shape,
                gates,
                lasting.copy(context, type, steps(ofOutput)),
                lasting.copy(context, DataType.FLOAT, steps(ofMemory)),
                memories,
                trace.outputs(),
                last);
    }

    private static Slab kept(CellFunction function, StepTrace trace, int which) {
        return function.needsArguments() ? trace.sum(which, 0) : trace.value(which, 0);
    }

    private void mask(INDArray by, Slab... arrays) {
        for (Slab array : arrays) {
            mask.bind(dnnl.DNNL_ARG_SRC_0, array)
                    .bind(dnnl.DNNL_ARG_SRC_1, by)
                    .bind(dnnl.DNNL_ARG_DST, array)
                    .run();
        }
    }

    private void copy(Slab factors, INDArray gates, int which) {
        intoGates.copy(
                factors.place(), Slab.of(gates).plus(which * shape.block()).place());
    }

    private INDArray steps(Slab factors) {
        return factors.vector(shape.gate()).reshape(shape.steps(), shape.block());
    }

    @Override
    public void close() {
        mask.close();
        intoGates.close();
    }
}
