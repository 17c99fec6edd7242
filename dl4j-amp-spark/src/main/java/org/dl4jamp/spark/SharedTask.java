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
import org.dl4jamp.AmpException;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;

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

    /** By its mixed precision, how many iterations an executor's network had done when it last ended an epoch. */
    private static final Map<MixedPrecision, Integer> ITERATIONS = Collections.synchronizedMap(new WeakHashMap<>());

    private final TrainingSoFar training;
    private final int stage;
    private Turn turn;
    private MixedPrecision amp;
    private AmpState begin;
    private AmpState end;
    private boolean inEpoch;

    private SharedTask(TrainingSoFar training, int stage) {
        this.training = training;
        this.stage = stage;
    }

    /**
     * In the task's thread, when it gets what it has to do. Returns when it's the task's turn.
     *
     * @throws TaskKilledException if Spark gives the task up meanwhile
     */
    static void register(TaskContext context, TrainingSoFar training) {
        SharedTask task = new SharedTask(training, context.stageId());
        if (RUNNING.putIfAbsent(context.taskAttemptId(), task) != null) {
            throw new AmpException(
                    "spark.setListeners: two listeners of SparkAmp are in one list; a network needs that of its own SparkAmp only");
        }
        context.addTaskCompletionListener(task);
        task.turn = Turn.await(context::isInterrupted);
    }

    /** That of the calling thread; empty if it isn't one of Spark's. */
    static Optional<SharedTask> running() {
        return Optional.ofNullable(TaskContext.get()).map(context -> RUNNING.get(context.taskAttemptId()));
    }

    /** Has the tasks of a training end in an exception that run in this executor, and later ones, until an epoch begins in one as it should. Any thread may call it. */
    static void failAll(TrainingSoFar training, String why) {
        FAILING.put(training.id(), why);
    }

    /** Enables mixed precision on the executor's network, unless it has been in an earlier task. */
    void beginEpoch(Model model) {
        inEpoch = true;
        FAILING.remove(training.id());
        MixedPrecision now = MixedPrecision.of(model).orElseGet(() -> TaskAmp.enable(model, training.before(stage)));
        if (now != amp) {
            amp = now;
            begin = now.state();
        }
        // Each task makes a network that isn't trained, shares the configuration of the one that is, and sets its
        // iteration to what the executor has last heard of from others: Adam would count neither its steps nor theirs.
        Integer iterations = ITERATIONS.get(now);
        if (iterations != null) {
            TaskAmp.setIterations(model, iterations);
        }
    }

    void endEpoch(Model model) {
        inEpoch = false;
        if (amp != null) {
            ITERATIONS.put(amp, TaskAmp.iterations(model));
            // Not when the task completes: the next one may train then.
            end = amp.state();
        }
    }

    /**
     * Reports what was done.
     *
     * @throws AmpException if tasks have to fail, or training has ended in the middle of an epoch: DL4J logs why, and has the task succeed
     */
    @Override
    public void onTaskCompletion(TaskContext context) {
        RUNNING.remove(context.taskAttemptId());
        try {
            complete(context);
        } finally {
            // Another one that begins takes away what there is to read of this one.
            if (turn != null) {
                turn.close();
            }
        }
    }

    private void complete(TaskContext context) {
        if (end != null) {
            training.report(TaskReport.ofExecutor(context, amp, begin, end));
        }
        if (context.isFailed()) {
            return;
        }
        String why = FAILING.get(training.id());
        if (why != null) {
            throw new AmpException(why);
        }
        if (inEpoch) {
            Optional<Throwable> cause = SharedTrainingFailure.last();
            throw new AmpException(
                    "Training has ended in the middle of an epoch: "
                            + cause.map(Throwable::toString)
                                    .orElse(
                                            "the executor's log has the reason, after \"Exception encountered during fit operation\""),
                    cause.orElse(null));
        }
    }
}
