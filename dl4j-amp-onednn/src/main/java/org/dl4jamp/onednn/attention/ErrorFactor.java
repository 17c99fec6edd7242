package org.dl4jamp.onednn.attention;

import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The factor by which DL4J's layers and vertices of SameDiff operations multiply all gradients. It is 2 in 1.0.0-M2.1:
 * SameDiff adds the gradient of the output up twice, as the gradient of the operation and as an error from outside.
 * This engine's gradients have the same factor, so that a learning rate means the same with and without it.
 */
final class ErrorFactor {
    private static final double VALUE = measure();

    private ErrorFactor() {}

    static double value() {
        return VALUE;
    }

    /** Returns DL4J's gradient for attention to a single key, which returns its value: it should be 1. */
    private static double measure() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            NeuralNetConfiguration conf = new NeuralNetConfiguration.Builder()
                    .layer(new SelfAttentionLayer.Builder()
                            .nIn(1)
                            .nOut(1)
                            .nHeads(1)
                            .projectInput(false)
                            .build())
                    .build();
            Layer layer = conf.getLayer().instantiate(conf, List.of(), 0, null, false, DataType.FLOAT);
            INDArray one = Nd4j.ones(DataType.FLOAT, 1, 1, 1);
            layer.activate(one, true, LayerWorkspaceMgr.noWorkspaces());
            return layer.backpropGradient(one, LayerWorkspaceMgr.noWorkspaces())
                    .getSecond()
                    .getDouble(0);
        }
    }
}
