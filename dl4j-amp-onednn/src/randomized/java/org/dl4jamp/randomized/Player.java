package org.dl4jamp.randomized;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.dl4jamp.randomized.Scenario.Step;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Makes the calls of a scenario on a network, and records the results. */
abstract class Player implements AutoCloseable {
    private final Scenario scenario;
    private final NetworkDescription description;
    private final Batches batches;
    private final Observations seen = new Observations();
    private Net net;

    Player(Scenario scenario, NetworkDescription description, Net net, int neighbour) {
        this.scenario = scenario;
        this.description = description;
        DataType type = net.hasParameters() ? net.model().params().dataType() : DataType.FLOAT;
        this.batches = new Batches(description, scenario.has(Option.MASKS), type, neighbour);
        this.net = net;
    }

    /** Makes all calls, up to the first that fails. */
    final Observations play() {
        Nd4j.getRandom().setSeed(scenario.seed());
        boolean goesOn = works("begin", this::begin);
        for (int i = 0; i < scenario.calls().size() && goesOn; i++) {
            Step step = scenario.calls().get(i);
            String name = i + " " + step.call();
            goesOn = works(name, () -> {
                Nd4j.getRandom().setSeed(step.seed());
                step.call().make(this, new Draw(step.seed()), name);
                observe(name);
            });
        }
        return seen;
    }

    /** Makes a call, and returns whether it returned. */
    private boolean works(String name, Runnable call) {
        try {
            call.run();
            return true;
        } catch (RuntimeException | AssertionError e) {
            seen.addFailure(name, e);
            forgetWorkspaces();
            return false;
        }
    }

    /** Prepares the network for the calls. */
    abstract void begin();

    /** Returns whether all steps so far had a score that mixed precision makes them with. */
    boolean hasFiniteScores() {
        return true;
    }

    /** Closes workspaces that DL4J leaves open when it throws: the thread's next network would fail in them. */
    static void forgetWorkspaces() {
        Nd4j.getMemoryManager().setCurrentWorkspace(null);
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    /** Returns outputs in inference, by the shortest way that there is. */
    Map<String, INDArray> output(Batch batch) {
        return net.output(batch, false, false);
    }

    private void observe(String name) {
        if (!hasFiniteScores()) {
            seen.add(name + ": some score", Double.NaN);
        }
        if (net.hasParameters()) {
            seen.add(name + ": parameters", net.model().params());
        }
        INDArray state = net.updaterState();
        if (state != null) {
            seen.add(name + ": updater state", state);
        }
    }

    final Scenario scenario() {
        return scenario;
    }

    final NetworkDescription description() {
        return description;
    }

    final Batches batches() {
        return batches;
    }

    final Observations seen() {
        return seen;
    }

    final Net net() {
        return net;
    }

    final void setNet(Net net) {
        this.net = net;
    }

    /** Trains for an epoch where mixed precision is enabled by a listener, which does it when an epoch begins. */
    final void beginWithAnEpoch() {
        if (scenario.has(Option.LISTENER)) {
            fit(List.of(batches.of(new Draw(scenario.seed() ^ 31))), List.of(false), 1);
        }
    }

    /** Trains with a batch, which may be one that has to be skipped. */
    abstract void fit(Batch batch, boolean failing, int variant);

    /** Trains for epochs. */
    abstract void fit(List<Batch> batches, List<Boolean> failing, int epochs);

    /** Pretrains all layers that can be. */
    void pretrain(Batch batch) {
        net.pretrain(batch);
    }

    abstract void applyPartialGroup();

    abstract void closeAndEnable();

    abstract void continueWithClone();

    abstract void paused(Runnable calls);

    abstract void inferring(Runnable calls);

    /** Notifies the network of changes of single numbers. */
    abstract void refresh();

    abstract void restoreExactly(File file) throws IOException;

    abstract void restorePlainly(File file) throws IOException;

    final void restore(boolean exactly) {
        try {
            Path file = Files.createTempFile("randomized", ".zip");
            try {
                if (exactly) {
                    restoreExactly(file.toFile());
                } else {
                    restorePlainly(file.toFile());
                }
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public abstract void close();
}
