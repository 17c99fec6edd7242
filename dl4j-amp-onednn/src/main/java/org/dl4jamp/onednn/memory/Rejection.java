package org.dl4jamp.onednn.memory;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.RefusedShape;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The messages for arrays that a twin doesn't take. */
public final class Rejection {
    private Rejection() {}

    /**
     * Runs DL4J's own layer on an input that the twin can't take, for DL4J's message.
     *
     * @param parameters its parameters; null if it has none
     * @param index the layer's index, for DL4J's messages
     * @throws RuntimeException DL4J's
     * @throws RefusedShape if DL4J's layer takes the input, which is left to it
     */
    public static void of(NeuralNetConfiguration conf, INDArray parameters, int index, INDArray input) {
        unlessDl4jTakes(conf, parameters, index, input);
        throw new RefusedShape(
                conf.getLayer().getClass().getSimpleName() + " has no oneDNN kernel for it, and DL4J takes it", null);
    }

    /**
     * Runs DL4J's own layer with a mask that the twin can't take, for DL4J's message.
     *
     * @throws RuntimeException DL4J's
     * @throws RefusedShape if DL4J's layer takes the mask, which is left to it
     */
    public static void ofMask(
            NeuralNetConfiguration conf, INDArray parameters, int index, INDArray input, INDArray mask) {
        unlessDl4jTakes(conf, parameters, index, input, mask.castTo(DataType.FLOAT));
        throw new RefusedShape(
                "there is no oneDNN kernel for a mask of shape " + Arrays.toString(mask.shape())
                        + ", and DL4J takes it",
                null);
    }

    /**
     * Runs DL4J's own layer on an unusual input, for DL4J's message if the input is wrong.
     *
     * @throws RuntimeException DL4J's
     */
    public static void unlessDl4jTakes(NeuralNetConfiguration conf, INDArray parameters, int index, INDArray input) {
        unlessDl4jTakes(conf, parameters, index, input, null);
    }

    private static void unlessDl4jTakes(
            NeuralNetConfiguration conf, INDArray parameters, int index, INDArray input, INDArray mask) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            NeuralNetConfiguration own = conf.clone();
            if (own.getLayer() instanceof BaseLayer noisy) {
                // The twin has drawn it, as DL4J's layer does before it looks at its input.
                noisy.setWeightNoise(null);
            }
            Layer layer = own.getLayer().instantiate(own, List.of(), index, parameters, false, DataType.FLOAT);
            layer.setMaskArray(mask);
            layer.activate(input.castTo(DataType.FLOAT), false, LayerWorkspaceMgr.noWorkspaces());
        }
    }

    /** Checks that the gradient has the shape of the output: kernels read as much as they were made for. */
    public static void ofEpsilon(String layer, INDArray epsilon, long... expected) {
        if (!Arrays.equals(epsilon.shape(), expected)) {
            throw new DL4JInvalidInputException("Got epsilon of shape " + Arrays.toString(epsilon.shape())
                    + " for activations of shape " + Arrays.toString(expected) + " " + layer);
        }
    }
}
