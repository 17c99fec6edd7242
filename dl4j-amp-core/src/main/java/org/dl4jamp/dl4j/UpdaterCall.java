package org.dl4jamp.dl4j;

import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;

/**
 * A call of a network's updater.
 *
 * @param gradient the gradients, which become updates in place
 * @param iteration number of steps before
 * @param epoch number of epochs before
 * @param examples the size of the minibatch
 * @param workspaceMgr workspaces for the updater
 */
public record UpdaterCall(Gradient gradient, int iteration, int epoch, int examples, LayerWorkspaceMgr workspaceMgr) {
    /** Calls another updater with the same. */
    public void hand(BaseMultiLayerUpdater<?> updater) {
        updater.update(gradient, iteration, epoch, examples, workspaceMgr);
    }

    /** Returns the same call in an iteration that was counted elsewhere. */
    public UpdaterCall inIteration(int counted) {
        return new UpdaterCall(gradient, counted, epoch, examples, workspaceMgr);
    }
}
