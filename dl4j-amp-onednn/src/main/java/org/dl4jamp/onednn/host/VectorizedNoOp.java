package org.dl4jamp.onednn.host;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * ND4J's updater that leaves gradients as they are. Batch normalization uses it: the changes of its running statistics
 * are updates already.
 */
final class VectorizedNoOp extends VectorizedUpdater {
    @Override
    List<INDArray> state() {
        return List.of();
    }

    @Override
    Step step(int iteration, int epoch, float divisor) {
        return divisor == 1 ? (g, state, size) -> {} : (g, state, size) -> divide(g, size, divisor);
    }

    private static void divide(float[] g, int size, float divisor) {
        for (int i = 0; i < size; i++) {
            g[i] /= divisor;
        }
    }
}
