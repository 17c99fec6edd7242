package org.dl4jamp.spark;

import java.util.Optional;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.spark.api.TrainingHook;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The mixed precision of one network that is trained on a Spark cluster, seen from the driver.
 *
 * <pre>
 * SparkAmp amp = SparkAmp.on(sparkContext);
 * var master = new ParameterAveragingTrainingMaster.Builder(workers, 32).trainingHooks(amp.hook()).build();
 * var spark = new SparkDl4jMultiLayer(sparkContext, MixedPrecision.configure(conf, config), master);
 * spark.fit(rdd);
 * System.out.println(amp.report());
 * </pre>
 *
 * <p>With a {@code SharedTrainingMaster}, which takes no hooks: {@code spark.setListeners(List.of(amp.listener()))}.
 *
 * <p>Every task trains in mixed precision from its first iteration, with the settings given here, or those that the
 * network's configuration carries, or the defaults. DL4J makes a new network in each task of parameter averaging. Its
 * loss scale is the lowest at the end of the split before it, on replacements of lost executors, too, and Adam counts
 * the steps that were taken. Each executor takes the engine and, with {@code Precision.AUTO}, the precision that suit
 * its machine; one log line reports where they differ.
 *
 * <p>One for each network and each context: several on one context are independent. Thread-safe.
 */
public final class SparkAmp {
    private static final Logger LOG = LoggerFactory.getLogger(SparkAmp.class);

    private final JavaSparkContext context;
    private final TaskReports reports;
    private final TaskSettings settings;

    private SparkAmp(JavaSparkContext context, TaskReports reports, TaskSettings settings) {
        this.context = context;
        this.reports = reports;
        this.settings = settings;
    }

    /**
     * Creates the mixed precision of a network whose training begins, with the settings that its configuration carries,
     * or the defaults.
     *
     * @throws AmpException if the context is null or stopped
     */
    public static SparkAmp on(JavaSparkContext context) {
        return on(context, StageEnd.BEGINNING, TaskSettings.OF_THE_NETWORK);
    }

    /**
     * Creates the mixed precision of a network whose training begins, with these settings. Tasks fail if its
     * configuration carries others.
     *
     * @throws AmpException if the context is null or stopped, or the settings are null or nothing for tasks: they
     *     accumulate, share a loss scaler, or hold code, which can't travel
     */
    public static SparkAmp on(JavaSparkContext context, AmpConfig config) {
        AmpException.ifNull(config, "config", "an AmpConfig, or leave it out to have that of the network");
        return on(context, StageEnd.BEGINNING, TaskSettings.of(config, "config"));
    }

    /**
     * Creates the mixed precision of a network whose training goes on, with the settings, the loss scale and the counts
     * of a state that {@link #state()} or {@link org.dl4jamp.MixedPrecision#state()} returned. Tasks fail if the
     * network's configuration carries other settings. {@link #report()} begins to count at zero.
     *
     * @throws AmpException if the context is null or stopped, the state is null, micro-batches wait in it, or its
     *     settings are nothing for tasks, as in {@link #on(JavaSparkContext, AmpConfig)}
     */
    public static SparkAmp on(JavaSparkContext context, AmpState state) {
        AmpException.ifNull(state, "state", "an AmpState, such as one that SparkAmp.state() returned");
        if (state.waitingMicroBatches() > 0) {
            throw new AmpException("state: " + state.waitingMicroBatches()
                    + " micro-batches wait in it, which would be lost on a cluster; call applyPartialGroup() before"
                    + " MixedPrecision.state()");
        }
        return on(context, StageEnd.of(state), TaskSettings.of(state.config(), "state"));
    }

    private static SparkAmp on(JavaSparkContext context, StageEnd begin, TaskSettings settings) {
        requireRunning(AmpException.ifNull(context, "sparkContext", "a JavaSparkContext that runs"));
        TaskReports reports = new TaskReports(new Ledger(begin), DriverWatch.of(context));
        context.sc().register(reports, "dl4j-amp");
        return new SparkAmp(context, reports, settings);
    }

    /**
     * Returns the hook for {@code ParameterAveragingTrainingMaster.Builder.trainingHooks}.
     *
     * @throws AmpException if the context is stopped
     */
    public TrainingHook hook() {
        return new AmpTrainingHook(handOut());
    }

    /**
     * Returns the listener for {@code SparkDl4jMultiLayer.setListeners} and {@code SparkComputationGraph.setListeners}
     * of a network that a {@code SharedTrainingMaster} trains, which takes no hooks. Set {@code workersPerNode(1)}:
     * DL4J has more workers in an executor by default where there are eight cores and more. A listener can't enable
     * those before their first step, and {@code fit} ends with an exception that explains it. Tasks of an executor take
     * turns. Give the master's builder {@code repartitioner(new EqualRepartitioner())} and each fit as much data as
     * there is: between tasks DL4J drops gradients. Short tasks are warned of.
     *
     * @throws AmpException if the context is stopped
     */
    public TrainingListener listener() {
        if (context.getConf().getBoolean("spark.speculation", false)) {
            LOG.warn("spark.speculation is on: Spark runs slow tasks a second time on other executors. With shared"
                    + " gradients"
                    + " both copies change the networks of all, so their data counts twice. Leave it off");
        }
        return new SharedTrainingListener(handOut());
    }

    private TrainingSoFar handOut() {
        requireRunning(context);
        DriverWatch.of(context).expectReports();
        return new TrainingSoFar(reports, settings, context);
    }

    /**
     * Returns what the executors have done so far, of all tasks whose results counted: one that Spark has run again is
     * counted once.
     */
    public SparkReport report() {
        return reports.ledger().report();
    }

    /**
     * Returns what has to be kept to go on from here: with {@link #on(JavaSparkContext, AmpState)} on a cluster, or on
     * one machine, for which {@link #enable} is the short way. The loss scale is the lowest of the last split; steps
     * are those of an average worker.
     *
     * @return empty before a task has ended
     */
    public Optional<AmpState> state() {
        return reports.ledger().state();
    }

    /**
     * Enables mixed precision on the trained network here on the driver, to go on training it on this machine from
     * {@link #state()}. The loss scale is kept, and Adam counts the steps that were taken. Where DL4J hasn't counted
     * iterations on the driver, with a {@code SharedTrainingMaster}, the network's count is set to those of an average
     * worker.
     *
     * @param network {@code spark.getNetwork()}
     * @throws AmpException before a task has ended, or as {@link MixedPrecision#enable(Model, AmpState)}; the network
     *     is then as it was
     */
    public MixedPrecision enable(Model network) {
        AmpState state = state().orElseThrow(
                        () -> new AmpException("SparkAmp.enable: no task has ended, so there is nothing to go on from;"
                                + " call it after spark.fit, or MixedPrecision.enable(network) in its place"));
        MixedPrecision amp = MixedPrecision.enable(network, state);
        int iterations = Math.toIntExact(state.stepsTaken() + state.stepsSkipped());
        if (TaskAmp.iterations(network) < iterations) {
            TaskAmp.setIterations(network, iterations);
        }
        return amp;
    }

    static void requireRunning(JavaSparkContext context) {
        if (context.sc().isStopped()) {
            throw new AmpException("sparkContext: application \"" + context.appName()
                    + "\" is stopped; make a new JavaSparkContext, go on with SparkAmp.on(newContext, amp.state()), or"
                    + " SparkAmp.on(newContext) from the beginning, and give its hook or listener to a new training"
                    + " master");
        }
    }
}
