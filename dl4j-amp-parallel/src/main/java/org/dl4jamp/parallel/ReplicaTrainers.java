package org.dl4jamp.parallel;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.factory.SymmetricTrainerContext;
import org.deeplearning4j.parallelism.factory.TrainerContext;
import org.deeplearning4j.parallelism.trainer.Trainer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScalerState;

/**
 * Makes the trainers of a ParallelWrapper, anew in each fit, as DL4J does. Their replicas are in mixed precision from
 * their first step on.
 */
final class ReplicaTrainers implements TrainerContext {
    private final ParallelWrapper wrapper;
    private final TrainerContext replaced;
    private final Optional<AmpConfig> config;
    private final boolean scaleAgreed;
    private final int threads;
    private final List<Replica> replicas = new CopyOnWriteArrayList<>();
    private Fit fit;
    private boolean accumulatorStuck;
    private long rounds;

    ReplicaTrainers(ParallelWrapper wrapper, Optional<AmpConfig> config, boolean scaleAgreed, int threads) {
        this.wrapper = wrapper;
        this.replaced = wrapper.getTrainerContext();
        this.config = config;
        this.scaleAgreed = scaleAgreed;
        this.threads = threads;
        replicas.add(new Replica(0));
    }

    /** Returns what DL4J had made the trainers with. */
    TrainerContext replaced() {
        return replaced;
    }

    private boolean sharesGradients() {
        return replaced instanceof SymmetricTrainerContext;
    }

    /** Returns replica 0, the source network. */
    Replica source() {
        return replicas.get(0);
    }

    List<ReplicaState> states() {
        return replicas.stream().map(Replica::state).flatMap(Optional::stream).toList();
    }

    /** Begins a fit, in the thread that has called it, before there are trainers. */
    @Override
    public void init(Model model, Object... args) {
        if (accumulatorStuck) {
            throw new AmpException(
                    "fit: a replica of this ParallelWrapper has failed in an earlier fit, in the middle of an"
                            + " exchange of gradients"
                            + " that DL4J's accumulator can't end; build another ParallelWrapper, and install"
                            + " AmpReplicas in it");
        }
        if (MixedPrecision.of(wrapper.getModel())
                .filter(MixedPrecision::isPaused)
                .isPresent()) {
            throw new AmpException(
                    "fit: the mixed precision of the wrapper's network is paused, which that of the other replicas"
                            + " can't be;"
                            + " close the pause before fit, or train the network itself in it");
        }
        replaced.init(model, args);
        enableSource();
        while (replicas.size() < wrapper.getWorkers()) {
            replicas.add(new Replica(replicas.size()));
        }
        fit = new Fit(wrapper.getWorkers());
    }

    /** Enables mixed precision on the source network, unless it is. */
    void enableSource() {
        Model model = wrapper.getModel();
        // Each fit of a MultiLayerNetwork ends with the loss of its updater, in DL4J, too. Each replica makes it in its
        // thread.
        if (model instanceof MultiLayerNetwork network) {
            network.getUpdater();
        } else {
            ((ComputationGraph) model).getUpdater();
        }
        Replica source = source();
        Optional<ReplicaState> last = source.state();
        if (last.isPresent()) {
            source.begin(model, last.get().state());
        } else {
            source.begin(model, config);
        }
    }

    @Override
    public Trainer create(
            String uuid,
            int thread,
            Model model,
            int rootDevice,
            boolean useMDS,
            ParallelWrapper parallelWrapper,
            WorkspaceMode mode,
            int averagingFrequency) {
        ReplicaTurn turn = new ReplicaTurn(this, fit, replicas.get(thread), first(), threads(), this::isInExchange);
        return sharesGradients()
                ? new SharingTrainer(model, uuid, thread, mode, parallelWrapper, useMDS, turn)
                : new ReplicaTrainer(model, uuid, thread, mode, parallelWrapper, useMDS, averagingFrequency, turn);
    }

    /** Returns what a replica begins with that hasn't been there before: the source's scale. */
    private AmpState first() {
        AmpState state = source().state().orElseThrow().state();
        return new AmpState(state.config(), state.scaler(), 0, 0, 0);
    }

    private int threads() {
        // ND4J counts the machine's cores, also where the process may use less.
        int all = Math.min(OpenMp.threads(), Runtime.getRuntime().availableProcessors());
        return threads > 0 ? threads : Math.max(1, all / wrapper.getWorkers());
    }

    /**
     * Has the fit end with this round, in the thread that waits for the round's end. DL4J wraps a trainer's exceptions
     * in its own then, but for what {@link Trainer#averagingRequired} throws. That is called at the end of a round
     * whose number the averaging frequency divides, such as 0.
     */
    void endWithThisRound() {
        if (wrapper.getIterationsCounter().get() != 0) {
            rounds = wrapper.getIterationsCounter().getAndSet(0);
        }
    }

    /**
     * Has the fit end because its thread was interrupted: at the end of the round with shared gradients, before the
     * next one otherwise.
     */
    void interrupted() {
        if (sharesGradients()) {
            endWithThisRound();
        }
    }

    /**
     * Begins a round, in the thread of {@code fit}, while no replica trains.
     *
     * @throws RuntimeException as {@link #roundEnds}
     */
    void roundBegins() {
        // With shared gradients the accumulator was notified of this round, and waits for its end.
        if (!sharesGradients()) {
            requireNoInterrupt();
        }
    }

    /**
     * Ends a round, in the thread of {@code fit}, while no replica trains.
     *
     * @throws RuntimeException what a replica has thrown, or that the thread was interrupted; the wrapper is closed
     *     then, as after a fit
     */
    void roundEnds() {
        requireAlive();
        if (sharesGradients()) {
            requireNoInterrupt();
        }
        boolean averages = wrapper.getIterationsCounter().get() % wrapper.getAveragingFrequency() == 0;
        if (scaleAgreed && averages) {
            agreeOnScale();
        }
    }

    /**
     * Ends the fit if a replica has failed, in its thread.
     *
     * @throws RuntimeException what the replica has thrown; the wrapper is closed then, as after a fit
     */
    void requireAlive() {
        if (fit.hasFailed()) {
            accumulatorStuck = sharesGradients();
            wrapper.shutdown();
            fit.throwFailure();
        }
    }

    private void requireNoInterrupt() {
        if (Thread.currentThread().isInterrupted()) {
            wrapper.shutdown();
            if (wrapper.getIterationsCounter().get() == 0) {
                // The next averaging comes when it would have come.
                wrapper.getIterationsCounter().set(rounds);
            }
            throw new AmpException(
                    "fit: its thread was interrupted. The network has what it learned in the rounds before; clear the"
                            + " interrupt"
                            + " (Thread.interrupted()) before you fit the wrapper again");
        }
    }

    /**
     * Returns whether a thread is in the accumulator by which replicas exchange gradients, where they wait for one
     * another.
     */
    private boolean isInExchange(Thread replica) {
        GradientsAccumulator accumulator = wrapper.getGradientsAccumulator();
        return replica != null
                && accumulator != null
                && Arrays.stream(replica.getStackTrace()).anyMatch(frame -> frame.getClassName()
                        .equals(accumulator.getClass().getName()));
    }

    private void agreeOnScale() {
        LossScalerState lowest = replicas.stream()
                .map(Replica::scaler)
                .flatMap(Optional::stream)
                .min(LossScalerState.LOWEST_FIRST)
                .orElseThrow();
        replicas.forEach(replica -> replica.take(lowest));
    }

    @Override
    public void finalizeRound(Model originalModel, Model... models) {
        replaced.finalizeRound(originalModel, models);
    }

    @Override
    public void finalizeTraining(Model originalModel, Model... models) {
        replaced.finalizeTraining(originalModel, models);
    }
}
