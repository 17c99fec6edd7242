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
        return new Attention(paramTable, queries, input, input, maskArray, DataType.HALF, products, memory);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        INDArray output = attention(WorkingMemory.forward(workspaceMgr)).output();
        return Attention.result(output, DataType.HALF, ArrayType.ACTIVATIONS, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Map<String, INDArray> gradients = gradTable == null ? Map.of() : gradTable;
        INDArray[] of = attention(WorkingMemory.backward(workspaceMgr)).backward(epsilon, gradients);
        INDArray ofInput = of[1].addi(of[2]);
        if (gradients.containsKey(LEARNED)) {
            // Each example has the same queries.
            of[0].sum(gradients.get(LEARNED), true, 0);
        } else {
            ofInput.addi(of[0]);
        }
        Gradient gradient = new DefaultGradient();
        gradients.forEach(gradient::setGradientFor);
        return new Pair<>(gradient, Attention.result(ofInput, DataType.HALF, ArrayType.ACTIVATION_GRAD, workspaceMgr));
    }
}
