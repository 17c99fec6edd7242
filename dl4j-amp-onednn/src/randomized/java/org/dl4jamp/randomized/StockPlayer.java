package org.dl4jamp.randomized;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Stock DL4J: skips what fails, and trains with merged batches where mixed precision accumulates. */
final class StockPlayer extends Player {
    private final List<Batch> waiting = new ArrayList<>();
    private boolean groupFails;
    private boolean finiteScores = true;
    /** Calls of fit so far. DL4J counts each one in a network that accumulates or skips. */
    private int iterations;

    StockPlayer(Scenario scenario, NetworkDescription description, Net net, int neighbour) {
        super(scenario, description, net, neighbour);
    }

    @Override
    void begin() {
        changeGradients();
        beginWithAnEpoch();
    }

    @Override
    boolean hasFiniteScores() {
        return finiteScores;
    }

    /** Has gradients changed as mixed precision changes them, and looks at the score of each step. */
    private void changeGradients() {
        List<TrainingListener> changes = new ArrayList<>();
        changes.add(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                finiteScores &= Double.isFinite(model.score());
            }
        });
        if (scenario().has(Option.PENALTY)) {
            changes.add(new NormPenalty(scenario()));
        }
        if (scenario().clips()) {
            changes.add(new GradientClipping(scenario()));
        }
        net().listen(changes.toArray(TrainingListener[]::new));
    }

    @Override
    void fit(Batch batch, boolean failing, int variant) {
        iterations++;
        if (scenario().microBatches() == 1) {
            if (!failing) {
                net().fit(batch, variant);
            }
            return;
        }
        waiting.add(batch);
        groupFails |= failing;
        if (waiting.size() == scenario().microBatches()) {
            makeStep();
        }
    }

    private void makeStep() {
        if (!waiting.isEmpty() && !groupFails) {
            net().fit(Batch.merge(waiting), 1);
        }
        forgetGroup();
    }

    private void forgetGroup() {
        waiting.clear();
        groupFails = false;
    }

    @Override
    void fit(List<Batch> batches, List<Boolean> failing, int epochs) {
        if (scenario().microBatches() == 1 && !failing.contains(true)) {
            iterations += batches.size() * epochs;
            net().fit(batches, epochs);
            return;
        }
        for (int epoch = 0; epoch < epochs; epoch++) {
            for (int i = 0; i < batches.size(); i++) {
                fit(batches.get(i), failing.get(i), 1);
            }
            if (!scenario().carriesOver()) {
                makeStep();
            }
            net().countEpoch();
        }
    }

    /** Clears what DL4J leaves in the view, and would subtract in each supervised step that follows. */
    @Override
    void pretrain(Batch batch) {
        super.pretrain(batch);
        INDArray gradients = net().gradientsView();
        if (gradients != null) {
            gradients.assign(0);
        }
    }

    @Override
    void applyPartialGroup() {
        makeStep();
    }

    /** Does as a network enabled again: it begins with DL4J's count of iterations, and with no group. */
    private void beginAnew() {
        forgetGroup();
        if (scenario().microBatches() > 1 || scenario().has(Option.FAILURES)) {
            net().setIterations(iterations);
        }
    }

    @Override
    void closeAndEnable() {
        beginAnew();
        beginWithAnEpoch();
    }

    @Override
    void continueWithClone() {
        beginAnew();
        setNet(net().copy());
        // A graph's clone begins to count anew.
        iterations = net().iterations();
        changeGradients();
        beginWithAnEpoch();
    }

    @Override
    void paused(Runnable calls) {
        calls.run();
    }

    @Override
    void inferring(Runnable calls) {
        beginAnew();
        calls.run();
        beginWithAnEpoch();
    }

    @Override
    void refresh() {
        // Stock DL4J keeps no copies of parameters.
    }

    @Override
    void restoreExactly(File file) throws IOException {
        net().save(file);
        setNet(net().restored(file));
        changeGradients();
    }

    @Override
    void restorePlainly(File file) throws IOException {
        beginAnew();
        restoreExactly(file);
        beginWithAnEpoch();
    }

    @Override
    public void close() {
        // Nothing was opened.
    }
}
