package org.dl4jamp.randomized;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Stock DL4J: skips what fails, and trains with merged batches where mixed precision accumulates. */
final class StockPlayer extends Player {
    private final List<Batch> waiting = new ArrayList<>();
    private boolean groupFails;
    /** Calls of fit so far. DL4J counts each one in a network that accumulates or skips. */
    private int iterations;

    StockPlayer(Scenario scenario, NetworkDescription description, Net net, int neighbour) {
        super(scenario, description, net, neighbour);
        clip();
    }

    /** Has gradients clipped that mixed precision clips. */
    private void clip() {
        if (scenario().clips()) {
            net().listen(new GradientClipping(scenario()));
        }
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
    }

    @Override
    void continueWithClone() {
        beginAnew();
        setNet(net().copy());
        clip();
    }

    @Override
    void paused(Runnable calls) {
        calls.run();
    }

    @Override
    void inferring(Runnable calls) {
        beginAnew();
        calls.run();
    }

    @Override
    void refresh() {
        // Stock DL4J keeps no copies of parameters.
    }

    @Override
    void restoreExactly(File file) throws IOException {
        net().save(file);
        setNet(net().restored(file));
        clip();
    }

    @Override
    void restorePlainly(File file) throws IOException {
        beginAnew();
        restoreExactly(file);
    }

    @Override
    public void close() {
        // Nothing was opened.
    }
}
