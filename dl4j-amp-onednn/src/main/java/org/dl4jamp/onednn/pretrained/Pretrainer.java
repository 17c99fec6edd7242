package org.dl4jamp.onednn.pretrained;

import java.util.function.Function;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.Solver;
import org.dl4jamp.onednn.host.Magnitudes;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Pretrains a layer in place of DL4J's own, in FP32, over the same configuration, parameters, gradients and updater
 * state.
 *
 * <p>DL4J's layer takes the first step. It makes the updater then, whose state is kept nowhere else, and keeps it for
 * steps after a pause or after {@code close()}. The updater is only then shared. DL4J's layer also takes steps with NaN
 * or infinity, which kernels may lose.
 *
 * @param <L> a subclass of DL4J's layer
 */
final class Pretrainer<L extends Layer & Pretrainer.Pretrained> implements AutoCloseable {
    /** A layer with kernels, of which DL4J's optimizer calls for gradients and score. */
    interface Pretrained extends AutoCloseable {
        /**
         * Takes one step.
         *
         * @param entered is entered while kernels run
         */
        void step(Solver solver, Gate entered, INDArray rows, LayerWorkspaceMgr workspaceMgr);

        @Override
        void close();
    }

    private final Function<NeuralNetConfiguration, L> maker;
    private L layer;
    private Solver solver;
    private boolean hasUpdater;

    /** @param maker is given the configuration of DL4J's layer, which counts iterations */
    Pretrainer(Function<NeuralNetConfiguration, L> maker) {
        this.maker = maker;
    }

    /** Takes one step, and returns the layer that took it. */
    Layer step(Layer master, Gate gate, INDArray rows, LayerWorkspaceMgr workspaceMgr) {
        if (!hasUpdater || !Magnitudes.areFinite(rows)) {
            master.fit(rows, workspaceMgr);
            hasUpdater = true;
            return master;
        }
        if (layer == null) {
            layer = maker.apply(master.conf());
            layer.setIndex(master.getIndex());
            layer.setParamsViewArray(master.params());
            layer.setParamTable(master.paramTable(false));
            layer.setListeners(master.getListeners());
            solver = new Solver.Builder()
                    .model(layer)
                    .configure(master.conf())
                    .listeners(master.getListeners())
                    .build();
            solver.initOptimizer();
        }
        if (layer.getGradientsViewArray() != master.getGradientsViewArray()) {
            layer.setBackpropGradientsViewArray(master.getGradientsViewArray());
        }
        solver.getOptimizer().setUpdater(master.getOptimizer().getUpdater());
        layer.setMaskArray(master.getMaskArray());
        layer.step(solver, gate, rows, workspaceMgr);
        return layer;
    }

    @Override
    public void close() {
        if (layer != null) {
            layer.close();
        }
    }
}
