package org.dl4jamp.onednn.host;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.NesterovsUpdater;

/**
 * ND4J's momentum of Nesterov.
 *
 * <p>With gradient g, learning rate α and momentum µ, in FP32: w = µv − αg, the update is µv − (1 + µ)w, and w takes
 * the place of v. DL4J subtracts updates. As in Stanford's <a
 * href="https://cs231n.github.io/neural-networks-3/#sgd">CS231n</a>.
 */
final class VectorizedNesterovs extends VectorizedUpdater {
    private final NesterovsUpdater plain;

    /** @param plain ND4J's updater, with its state */
    VectorizedNesterovs(NesterovsUpdater plain) {
        this.plain = plain;
    }

    @Override
    List<INDArray> state() {
        return List.of(plain.getV());
    }

    @Override
    Step step(int iteration, int epoch, float divisor) {
        float rate = (float) plain.getConfig().getLearningRate(iteration, epoch);
        float momentum = (float) plain.getConfig().currentMomentum(iteration, epoch);
        return (g, state, size) -> run(g, state[0], size, rate, momentum, divisor);
    }

    private static void run(float[] g, float[] v, int size, float rate, float momentum, float divisor) {
        for (int i = 0; i < size; i++) {
            float before = momentum * v[i];
            v[i] = before - rate * (g[i] / divisor);
            g[i] = before - (1 + momentum) * v[i];
        }
    }
}
