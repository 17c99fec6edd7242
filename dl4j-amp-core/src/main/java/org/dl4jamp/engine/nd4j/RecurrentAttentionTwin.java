package org.dl4jamp.engine.nd4j;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.dl4j.RecurrentAttentionFunctions;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Recurrent attention over HALF weights: {@code o[t] = activation(x[t] W + b + attention(o[t-1]; x) R)}, the first step
 * without attention. It takes and returns HALF {@code [minibatch, size, time]}. Sums of products, scores and functions
 * are FP32, and so are gradients of the parameters. As in DL4J, each time step projects keys and values anew.
 */
final class RecurrentAttentionTwin extends SameDiffLayer {
    private static final long serialVersionUID = 1L;

    private final transient Products products;
    private final transient RecurrentAttentionLayer ours;
    private final transient IActivation function;
    private transient boolean hasBegun;

    RecurrentAttentionTwin(NeuralNetConfiguration conf, Products products) {
        super(conf, DataType.HALF);
        this.products = products;
        this.ours = (RecurrentAttentionLayer) conf.getLayer();
        this.function = RecurrentAttentionFunctions.of(ours).orElseThrow();
    }

    /**
     * The numbers of a forward pass, each with all time steps.
     *
     * @param x HALF {@code [time, minibatch, nIn]}
     * @param sums FLOAT {@code [time, minibatch, nOut]}
     * @param outputs HALF {@code [time, minibatch, nOut]}
     */
    private record Trace(INDArray x, INDArray sums, INDArray outputs) {}

    /** Checks the input's size, and that each has as many time steps as the first. */
    private void requireFit() {
        assertInputSet(false);
        Attention.requireFit(input, ours.getNIn(), layerId());
        if (!hasBegun) {
            ours.setTimeSteps((int) input.size(2));
            hasBegun = true;
        }
        ours.validateInput(input);
    }

    private static INDArray rows(INDArray steps) {
        return steps.reshape('c', steps.size(0) * steps.size(1), steps.size(2));
    }

    /** Returns a view of a time step, {@code [minibatch, size]}. */
    private static INDArray step(INDArray steps, long time) {
        return steps.get(point(time), all(), all());
    }

    private Attention attention(Trace trace, long time, WorkingMemory memory) {
        INDArray before = step(trace.outputs(), time - 1);
        INDArray queries = before.reshape('c', before.size(0), before.size(1), 1);
        return new Attention(paramTable, queries, input, input, maskArray, DataType.HALF, products, memory);
    }

    /** Returns the output of an attention as a factor of products, {@code [minibatch, nOut]}. */
    private static INDArray attended(Attention attention, WorkingMemory memory) {
        INDArray output = attention.output();
        return memory.create(DataType.HALF, 'c', output.size(0), output.size(1))
                .assign(output.get(all(), all(), point(0)));
    }

    private Trace forward(boolean training, WorkingMemory memory) {
        long steps = input.size(2);
        long minibatch = input.size(0);
        Trace trace = new Trace(
                memory.create(DataType.HALF, 'c', steps, minibatch, ours.getNIn())
                        .assign(input.permute(2, 0, 1)),
                memory.create(DataType.FLOAT, 'c', steps, minibatch, ours.getNOut()),
                memory.create(DataType.HALF, 'c', steps, minibatch, ours.getNOut()));
        INDArray sums = rows(trace.sums());
        products.multiply(rows(trace.x()), getParam("W"), sums, 0, memory);
        if (ours.isHasBias()) {
            sums.addiRowVector(memory.cast(getParam("b"), DataType.FLOAT));
        }
        WorkingMemory ofStep = memory.ofPart();
        for (long time = 0; time < steps; time++) {
            try (MemoryWorkspace scope = ofStep.open()) {
                INDArray sum = step(trace.sums(), time);
                if (time > 0) {
                    INDArray attended = attended(attention(trace, time, ofStep), ofStep);
                    products.multiply(attended, getParam("RW"), sum, 1, ofStep);
                }
                step(trace.outputs(), time).assign(function.getActivation(copy(sum, ofStep), training));
            }
        }
        return trace;
    }

    private static INDArray copy(INDArray array, WorkingMemory memory) {
        return memory.create(DataType.FLOAT, 'c', array.shape()).assign(array);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        requireFit();
        INDArray outputs =
                forward(training, WorkingMemory.forward(workspaceMgr)).outputs();
        return Attention.result(outputs.permute(1, 2, 0), DataType.HALF, ArrayType.ACTIVATIONS, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        requireFit();
        WorkingMemory memory = WorkingMemory.backward(workspaceMgr);
        Trace trace = forward(true, memory);
        gradTable.values().forEach(gradient -> gradient.assign(0));
        INDArray error = memory.create(DataType.FLOAT, 'c', trace.sums().shape())
                .assign(epsilon.permute(2, 0, 1))
                .muli(ExternalErrors.factor());
        INDArray next = memory.zeros(DataType.FLOAT, 'c', input.shape());
        INDArray deltas = deltas(trace, error, next, memory);
        products.multiply(rows(trace.x()).transpose(), rows(deltas), gradTable.get("W"), 0, memory);
        if (ours.isHasBias()) {
            gradTable.get("b").assign(rows(error).sum(0));
        }
        INDArray ofInput = memory.create(DataType.FLOAT, 'c', trace.x().shape());
        products.multiply(rows(deltas), getParam("W").transpose(), rows(ofInput), 0, memory);
        next.addi(ofInput.permute(1, 2, 0));
        Gradient gradient = new DefaultGradient();
        gradTable.forEach(gradient::setGradientFor);
        return new Pair<>(gradient, Attention.result(next, DataType.HALF, ArrayType.ACTIVATION_GRAD, workspaceMgr));
    }

    /**
     * Returns the gradients of the sums, in HALF.
     *
     * @param error FLOAT gradients of the outputs; they become those of the sums
     * @param next to which the gradients of keys and values are added
     */
    private INDArray deltas(Trace trace, INDArray error, INDArray next, WorkingMemory memory) {
        INDArray deltas = memory.create(DataType.HALF, 'c', error.shape());
        WorkingMemory ofStep = memory.ofPart();
        for (long time = error.size(0) - 1; time >= 0; time--) {
            try (MemoryWorkspace scope = ofStep.open()) {
                INDArray errorNow = step(error, time);
                INDArray sum = copy(step(trace.sums(), time), ofStep);
                errorNow.assign(function.backprop(sum, copy(errorNow, ofStep)).getFirst());
                INDArray delta = step(deltas, time).assign(errorNow);
                if (time > 0) {
                    Attention attention = attention(trace, time, ofStep);
                    INDArray attended = attended(attention, ofStep);
                    products.multiply(attended.transpose(), delta, gradTable.get("RW"), 1, ofStep);
                    INDArray ofAttended = ofStep.create(DataType.FLOAT, 'c', delta.shape());
                    products.multiply(delta, getParam("RW").transpose(), ofAttended, 0, ofStep);
                    INDArray[] of = attention.backward(
                            ofAttended.reshape('c', delta.size(0), delta.size(1), 1), 1, 1, gradTable);
                    step(error, time - 1).addi(of[0].get(all(), all(), point(0)));
                    next.addi(of[1]).addi(of[2]);
                }
            }
        }
        return deltas;
    }
}
