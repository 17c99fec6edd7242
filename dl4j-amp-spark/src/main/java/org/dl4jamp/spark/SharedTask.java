package org.dl4jamp.spark;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.util.TaskCompletionListener;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.precision.AmpException;

/**
 * A task of shared gradients. The network lives on after the task, and so does its mixed precision.
 *
 * <p>Tasks of an executor take {@linkplain Turn turns}, whatever its cores.
 */
final class SharedTask implements TaskCompletionListener {
    /** By the number of the task's attempt, of which there's one on a thread. */
    private static final Map<Long, SharedTask> RUNNING = new ConcurrentHashMap<>();

    /** By the training, why its tasks have to fail. */
    private static final Map<Long, String> FAILING = new ConcurrentHashMap<>();

    /** By its mixed precision, how many iterations an executor's network had done when its last task ended. */
    private static final Map<MixedPrecision, Integer> ITERATIONS = Collections.synchronizedMap(new WeakHashMap<>());

    private final TaskContext context;
    private final TrainingSoFar training;
    private final ServerLaunch launch = new ServerLaunch();
    private volatile Turn turn;
    private volatile Model network;
    private volatile String unreachable;
    private MixedPrecision amp;
    private AmpState begin;
    private boolean inEpoch;

    private SharedTask(TaskContext context, TrainingSoFar training) {
        this.context = context;
        this.training = training;
    }

    /**
     * Registers the task of the calling thread, which has just been sent to it, and returns when it's the task's turn.
     *
     * @param listener the task's, which the executor's network gets if it has none: DL4J gives it those of a master's
     *     first fit only
     * @throws TaskKilledException if Spark gives the task up meanwhile
     * @throws AmpException if there are two listeners, or an earlier task, which was given up, doesn't end
     */
    static void register(TaskContext context, TrainingSoFar training, SharedTrainingListener listener) {
        SharedTask task = new SharedTask(context, training);
        if (RUNNING.putIfAbsent(context.taskAttemptId(), task) != null) {
            throw new AmpException(
                    "spark.setListeners: two listeners of SparkAmp are in one list; a network needs that of its own"
                            + " SparkAmp only");
        }
        context.addTaskCompletionListener(task);
        task.turn = Turn.await(task::hasToEnd);
        SharedWrapper.forgetData();
        SharedWrapper.network().ifPresent(listener::joinUnlessThereIsOne);
    }

    /**
     * Returns whether Spark has given the task up, or it waits for connections that can't be made. Any thread may call
     * it.
     */
    private boolean hasToEnd() {
        if (unreachable == null && network == null && turn != null) {
            try {
                unreachable = launch.failure();
            } catch (AmpException e) {
                unreachable = e.getMessage();
            }
        }
        return unreachable != null || context.isInterrupted();
    }

    /** Returns the task of the calling thread; empty if it isn't one of Spark's. */
    static Optional<SharedTask> running() {
        return Optional.ofNullable(TaskContext.get()).map(context -> RUNNING.get(context.taskAttemptId()));
    }

    /**
     * Has the tasks of a training end in an exception that run in this executor, and later ones, until an epoch begins
     * in one as it should. Any thread may call it.
     */
    static void failAll(TrainingSoFar training, String why) {
        FAILING.put(training.id(), why);
    }

    /** Enables mixed precision on the executor's network, unless it has been in an earlier task. */
    void beginEpoch(Model model) {
        inEpoch = true;
        FAILING.remove(training.id());
        network = model;
        MixedPrecision now = MixedPrecision.of(model).orElseGet(() -> TaskAmp.enable(model, context, training));
        training.settings().requireInForce(now);
        if (now != amp) {
            amp = now;
            begin = now.state();
        }
        // Each task makes a network that isn't trained but shares the configuration of the trained one. It sets the
        // configuration's iteration to the last one received from other executors: Adam would count neither its steps
        // nor theirs.
        Integer iterations = ITERATIONS.get(now);
        if (iterations != null) {
            TaskAmp.setIterations(model, iterations);
        }
    }

    void endEpoch() {
        inEpoch = false;
    }

    /**
     * Reports what was done.
     *
     * @throws AmpException if tasks have to fail, or training has ended in the middle of an epoch: DL4J logs why, and
     *     has the task succeed
     */
    @Override
    public void onTaskCompletion(TaskContext completed) {
        RUNNING.remove(context.taskAttemptId());
        if (turn == null) {
            return;
        }
        try {
            complete();
        } finally {
            try {
                SharedWrapper.repairAfterTask();
            } finally {
                // The next task changes what there is to read of this one.
                turn.close();
            }
        }
    }

    private void complete() {
        if (amp != null) {
            ITERATIONS.put(amp, TaskAmp.iterations(network));
        }
        if (unreachable != null) {
            throw new AmpException(unreachable);
        }
        if (context.isFailed()) {
            return;
        }
        String why = FAILING.get(training.id());
        if (why != null) {
            throw new AmpException(why);
        }
        if (inEpoch) {
            Optional<Throwable> cause = SharedWrapper.failure();
            throw new AmpException(
                    "Training has ended in the middle of an epoch: "
                            + cause.map(Throwable::toString)
                                    .orElse("the executor's log has the reason, after \"Exception encountered during"
                                            + " fit operation\""),
                    cause.orElse(null));
        }
        if (amp != null) {
            training.report(TaskReport.ofExecutor(context, amp, begin, amp.state()));
        } else if (SharedWrapper.hasData()) {
            throw new AmpException("A task of shared gradients had data, and made no step in mixed precision: DL4J"
                    + " trained without the listener of SparkAmp. It's for a SharedTrainingMaster of DL4J's own"
                    + " (1.0.0-M2), and other listeners must not take it away from the network");
        }
    }
}
