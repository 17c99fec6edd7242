package org.dl4jamp.onednn.vertex;

import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.engine.VertexRequest;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The input of a graph whose mask or length a vertex of sequences takes.
 *
 * @param index of the input; negative for none
 */
record NetworkInput(ComputationGraph graph, int index) {
    /** Finds the input of a name, which may be null. */
    static NetworkInput of(VertexRequest request, String name) {
        ComputationGraph graph = HiddenFields.graph((BaseGraphVertex) request.master());
        int index =
                name == null ? -1 : graph.getConfiguration().getNetworkInputs().indexOf(name);
        return new NetworkInput(graph, index);
    }

    /** Returns the input of the present pass; null if there is none. */
    INDArray array() {
        INDArray[] inputs = graph.getInputs();
        return index < 0 || inputs == null ? null : inputs[index];
    }

    /** Returns the mask of the present pass, {@code [minibatch, time]}; null if there is none. */
    INDArray mask() {
        INDArray[] masks = graph.getInputMaskArrays();
        return index < 0 || masks == null ? null : masks[index];
    }

    /** Returns whether there is no mask, or one of the shape of sequences {@code [minibatch, size, time]}. */
    boolean maskFits(INDArray sequences) {
        INDArray mask = mask();
        return mask == null
                || (mask.rank() == 2 && mask.size(0) == sequences.size(0) && mask.size(1) == sequences.size(2));
    }

    /** Returns a mask's numbers, one example after the other. */
    static double[] numbers(INDArray mask) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return mask.dup('c').data().asDouble();
        }
    }
}
