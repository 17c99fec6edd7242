package org.dl4jamp.spark;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Seq;

/**
 * Warns on the driver of jobs of DL4J's training that succeed without a report: no step of them was in mixed precision.
 * One for each context, however many {@link SparkAmp}s it has, and with it the one {@link MissingClasses}.
 */
final class DriverWatch extends SparkListener {
    private static final Logger LOG = LoggerFactory.getLogger(SparkAmp.class);

    private static final Map<SparkContext, DriverWatch> OF_CONTEXTS = new WeakHashMap<>();

    /** Methods in which DL4J's masters run the job of a fit, or of one of its splits. */
    private static final String TRAINING = "TrainingMaster.processResults(";

    private final Set<Integer> reportedStages = new HashSet<>();
    private final Map<Integer, Job> running = new HashMap<>();
    private boolean reportsExpected;
    private boolean said;

    private record Job(Set<Integer> stages, boolean trains) {}

    private DriverWatch() {}

    /** Returns the watch of a running context. */
    static DriverWatch of(JavaSparkContext context) {
        synchronized (OF_CONTEXTS) {
            return OF_CONTEXTS.computeIfAbsent(context.sc(), spark -> {
                DriverWatch watch = new DriverWatch();
                spark.addSparkListener(watch);
                spark.addSparkListener(new MissingClasses());
                return watch;
            });
        }
    }

    /** Warns from now on: a program has got a hook or a listener of the context. */
    synchronized void expectReports() {
        reportsExpected = true;
    }

    /** Notes that a task of a stage has reported. Reports arrive before the end of their job is announced. */
    synchronized void reported(int stage) {
        reportedStages.add(stage);
    }

    @Override
    public synchronized void onJobStart(SparkListenerJobStart job) {
        Set<Integer> stages = new HashSet<>();
        boolean trains = false;
        Seq<StageInfo> infos = job.stageInfos();
        for (int i = 0; i < infos.size(); i++) {
            stages.add(infos.apply(i).stageId());
            trains |= infos.apply(i).details().contains(TRAINING);
        }
        running.put(job.jobId(), new Job(stages, trains));
    }

    @Override
    public synchronized void onJobEnd(SparkListenerJobEnd end) {
        Job job = running.remove(end.jobId());
        if (job == null) {
            return;
        }
        if (reportedStages.removeAll(job.stages())) {
            said = false;
        } else if (job.trains() && reportsExpected && !said && JobSucceeded$.MODULE$.equals(end.jobResult())) {
            said = true;
            LOG.warn(
                    "A training of DL4J's on this SparkContext went on without mixed precision: Spark's job {}"
                            + " succeeded,"
                            + " and none of its tasks reported to a SparkAmp. If it isn't meant to be in FP32:"
                            + " SparkAmp.hook() belongs into ParameterAveragingTrainingMaster.Builder.trainingHooks,"
                            + " SparkAmp.listener() into spark.setListeners of a network with a SharedTrainingMaster;"
                            + " each call of setListeners replaces all listeners",
                    end.jobId());
        }
    }
}
