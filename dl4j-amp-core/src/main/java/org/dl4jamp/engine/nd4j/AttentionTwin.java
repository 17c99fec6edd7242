package org.dl4jamp.engine.nd4j;

import java.util.Arrays;
import java.util.Map;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An attention layer over HALF weights, with its time steps or learned vectors as queries. It takes HALF
 * {@code [minibatch, nIn, time]} and returns HALF {@code [minibatch, nOut, queries]}. Products are summed, and softmax
 * and mask applied, in FP32. Gradients of the parameters are FP32.
 */
final class AttentionTwin extends SameDiffLayer {
    private static final long serialVersionUID = 1L;
    private static final String LEARNED = "Q";

    private final transient Products products;

    AttentionTwin(NeuralNetConfiguration conf, Products products) {
        super(conf, DataType.HALF);
        this.products = products;
    }

    private Attention attention(WorkingMemory memory) {
        long nIn = paramTable.containsKey("Wk") ? getParam("Wk").size(2) : input.size(1);
        if (input.rank() != 3 || input.size(1) != nIn) {
            throw new DL4JInvalidInputException("Input of shape " + Arrays.toString(input.shape())
                    + " doesn't match the layer, which takes [minibatch, " + nIn + ", time] " + layerId());
        }
        INDArray learned = paramTable.get(LEARNED);
        INDArray queries = learned == null
                ? input
                : learned.broadcast(memory.create(DataType.HALF, 'c', input.size(0), nIn, learned.size(2)));
        return new Attention(paramTable, queries, input, input, maskArray, products, memory);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        return rounded(attention(WorkingMemory.forward(workspaceMgr)).output(), ArrayType.ACTIVATIONS, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        WorkingMemory memory = WorkingMemory.backward(workspaceMgr);
        long[] steps = {input.size(0), input.size(2), input.size(1)};
        INDArray ofInput = memory.create(DataType.FLOAT, 'c', steps[0] * steps[1], steps[2]);
        Map<String, INDArray> gradients = gradTable == null ? Map.of() : gradTable;
        INDArray learned = gradients.get(LEARNED);
        long queries = learned == null ? 0 : learned.size(2);
        INDArray ofQueries =
                learned == null ? ofInput : memory.create(DataType.FLOAT, 'c', steps[0] * queries, steps[2]);
        attention(memory).backward(epsilon, gradients, ofQueries, ofInput, ofInput);
        if (learned != null) {
            // Each example has the same queries.
            INDArray sum = memory.create(DataType.FLOAT, 'c', queries, steps[2]);
            ofQueries.reshape('c', steps[0], queries, steps[2]).sum(sum, 0);
            learned.assign(sum.transpose().reshape(1, steps[2], queries));
        }
        Gradient gradient = new DefaultGradient();
        gradients.forEach(gradient::setGradientFor);
        INDArray next = ofInput.reshape('c', steps).permute(0, 2, 1);
        return new Pair<>(gradient, rounded(next, ArrayType.ACTIVATION_GRAD, workspaceMgr));
    }

    private static INDArray rounded(INDArray array, ArrayType place, LayerWorkspaceMgr workspaceMgr) {
        return workspaceMgr
                .createUninitialized(place, DataType.HALF, array.shape(), 'c')
                .assign(array);
    }
}
