package org.dl4jamp.onednn.vertex;

import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The examples of one of several arrays that were stacked. */
final class UnstackTwin extends PartTwin {
    private static final long serialVersionUID = 1L;

    private static final int EXAMPLES = 0;

    private final long number;
    private final long count;

    /**
     * @param number of the array among those that were stacked
     * @param count of these
     */
    UnstackTwin(VertexRequest request, long number, long count, OneDnnContext context) {
        super(request, context);
        this.number = number;
        this.count = count;
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1
                && inputs[0].rank() >= 2
                && inputs[0].rank() <= 4
                && number < count
                && examples(inputs[0]) > 0;
    }

    private long examples(INDArray whole) {
        return whole.size(EXAMPLES) / count;
    }

    @Override
    INDArray part(INDArray whole) {
        return Workspaces.range(whole, EXAMPLES, number * examples(whole), examples(whole));
    }
}
