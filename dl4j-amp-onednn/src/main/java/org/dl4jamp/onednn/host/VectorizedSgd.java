package org.dl4jamp.onednn.host;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.SgdUpdater;

/** ND4J's stochastic gradient descent: the update is the gradient times the learning rate, in FP32. */
final class VectorizedSgd extends VectorizedUpdater {
    private final SgdUpdater plain;

    /** @param plain ND4J's updater */
    VectorizedSgd(SgdUpdater plain) {
        this.plain = plain;
    }

    @Override
    List<INDArray> state() {
        return List.of();
    }

    @Override
    Step step(int iteration, int epoch, float divisor) {
        float rate = (float) plain.getConfig().getLearningRate(iteration, epoch);
        return (g, state, size) -> {
            for (int i = 0; i < size; i++) {
                g[i] = rate * (g[i] / divisor);
            }
        };
    }
}
