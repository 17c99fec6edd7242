package org.dl4jamp.onednn.vertex;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Sequences {@code [minibatch, size, time]} in the opposite order of time. With a mask those time steps change places
 * that count, and the others are zero.
 */
final class ReversalTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private final transient NetworkInput masked;

    /** @param input the name of the network's input with the mask; null for none */
    ReversalTwin(VertexRequest request, String input, OneDnnContext context) {
        super(request, context);
        this.masked = NetworkInput.of(request, input);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1 && inputs[0].rank() == 3 && masked.maskFits(inputs[0]);
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray from = rows(inputs[0], workspaceMgr, ArrayType.FF_WORKING_MEM);
        return reversed(from, sequences(from, workspaceMgr, ArrayType.ACTIVATIONS));
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray from = rows(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        return new INDArray[] {reversed(from, sequences(from, workspaceMgr, ArrayType.ACTIVATION_GRAD))};
    }

    private INDArray reversed(INDArray from, INDArray to) {
        INDArray mask = masked.mask();
        TimeSteps source = new TimeSteps(from);
        TimeSteps target = new TimeSteps(to);
        int steps = (int) from.size(2);
        if (mask == null) {
            for (int step = 0; step < steps; step++) {
                source.copy(step, target, steps - 1 - step);
            }
            return to;
        }
        Workspaces.clear(to);
        double[] numbers = NetworkInput.numbers(mask);
        int[] counting = new int[steps];
        for (int example = 0; example < from.size(0); example++) {
            int count = 0;
            for (int step = 0; step < steps; step++) {
                if (numbers[example * steps + step] != 0) {
                    counting[count++] = step;
                }
            }
            for (int i = 0; i < count; i++) {
                source.copy(example, counting[i], target, counting[count - 1 - i]);
            }
        }
        return to;
    }
}
