package org.dl4jamp.step;

import java.util.function.LongSupplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds a loss scale that fits while a network makes its first steps. Where gradients overflow, the scaler is updated
 * with an overflow, and the network computes the gradients of the same batch again at the lower scale:
 *
 * <pre>
 * while gradients overflow and update(overflow) lowers the scale:
 *     gradients = those of the same batch
 * </pre>
 *
 * <p>The scale becomes what it would have become by skipped steps, and no batch is lost. Dropout draws new numbers. If
 * no scale makes the gradients finite, the scaler is as before, the step is skipped, and no later one searches.
 *
 * <p>Isn't done in a pause, where nothing is scaled, nor with a shared scale, which only the program updates. Nor in
 * truncated backpropagation through time, where the pass has moved the recurrent state.
 */
final class ScaleSearch {
    private static final Logger LOG = LoggerFactory.getLogger(ScaleSearch.class);

    /** Halvings from the largest to the smallest FP32 number, and more than any scaler's hysteresis needs. */
    private static final int MOST_UPDATES = 300;

    private final long steps;
    private final LongSupplier taken;
    private final AmpNetwork network;
    private final ScaleUpdates scale;
    private boolean failed;

    /**
     * @param steps number of steps in which the scale is searched for
     * @param taken number of steps that counted
     */
    ScaleSearch(long steps, LongSupplier taken, AmpNetwork network, ScaleUpdates scale) {
        this.steps = steps;
        this.taken = taken;
        this.network = network;
        this.scale = scale;
    }

    /** Returns whether an overflow of these gradients begins a search. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOn(INDArray gradients) {
        return !failed
                && taken.getAsLong() < steps
                && !scale.arePaused()
                && !scale.areLater()
                && network.gradients() == gradients
                && network.backpropType() != BackpropType.TruncatedBPTT;
    }

    /**
     * Replaces gradients that overflowed by finite ones of the same batch. The network's score is then that of the pass
     * that they are from.
     *
     * @param iteration for the log
     * @return whether they are finite; if not, they and the score are those of the last pass
     */
    boolean run(int iteration, INDArray gradients, StepKernels kernels) {
        LossScaler scaler = scale.scaler();
        LossScalerState before = scaler.state();
        int passes = 0;
        for (int updates = 0; updates < MOST_UPDATES; updates++) {
            LossScalerState last = scaler.state();
            scaler.update(true);
            if (scaler.state().equals(last)) {
                break;
            }
            if (scaler.scale() < last.scale()) {
                repeat();
                passes++;
                if (!Double.isFinite(network.model().score())) {
                    break;
                }
                if (kernels.allFinite(gradients)) {
                    LOG.info(
                            "Gradients overflowed in iteration {} at loss scale {}: computed again, and finite at {}"
                                    + " after {} passes",
                            iteration,
                            before.scale(),
                            scaler.scale(),
                            passes);
                    return true;
                }
            }
        }
        failed = true;
        scaler.restore(before);
        LOG.debug("No scale makes the gradients of iteration {} finite, after {} passes", iteration, passes);
        return false;
    }

    /** Computes gradients and score once more, of which the network's listeners are notified as of any others. */
    private void repeat() {
        Model model = network.model();
        scale.repeat(() -> model.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces()));
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            network.listeners().forEach(listener -> listener.onGradientCalculation(model));
        }
    }
}
