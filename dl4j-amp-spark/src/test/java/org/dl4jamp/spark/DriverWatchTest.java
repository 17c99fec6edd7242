package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.LiveListenerBus;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.impl.graph.SparkComputationGraph;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.deeplearning4j.spark.parameterserver.training.SharedTrainingMaster;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.dataset.DataSet;
import org.slf4j.LoggerFactory;

/** What the driver says of trainings, and what of it stays behind on a context. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("long")
class DriverWatchTest {
    @TempDir
    private Path folder;

    private final Logger logger = (Logger) LoggerFactory.getLogger(SparkAmp.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    // DL4J takes no other way of writing it for a cluster that can read local files.
    private JavaSparkContext context = Cluster.start(Map.of("spark.master", "local[2]"));

    @BeforeEach
    void listen() {
        lines.start();
        logger.addAppender(lines);
    }

    @AfterEach
    void stop() {
        logger.detachAppender(lines);
        context.close();
    }

    @Test
    void fitsWhoseMasterLacksTheHookAreWarnedOfOnceUntilOneReportsAgain() {
        SparkAmp amp = SparkAmp.on(context, Blobs.half());
        var without = new SparkDl4jMultiLayer(
                context, Blobs.network(), Averaging.master(2).build());
        without.fit(rdd());
        assertWarnings(0);
        var with = new SparkDl4jMultiLayer(
                context,
                Blobs.network(),
                Averaging.master(2).trainingHooks(amp.hook()).build());
        with.fit(rdd());
        assertWarnings(0);
        without.fit(rdd());
        without.fit(rdd());
        assertWarnings(1);
        with.fit(rdd());
        without.fit(rdd());
        assertWarnings(2);
        assertEquals(40, amp.report().stepsTaken());
    }

    @Test
    void everyWayToBringDataIsWarnedOf() {
        SparkAmp.on(context).hook();
        int warnings = 0;
        for (RDDTrainingApproach approach : RDDTrainingApproach.values()) {
            ParameterAveragingTrainingMaster master = Averaging.master(1)
                    .rddTrainingApproach(approach)
                    .exportDirectory(folder.toUri().toString())
                    .build();
            new SparkComputationGraph(context, Blobs.graph(), master).fit(rdd());
            assertWarnings(++warnings);
            SparkAmp amp = SparkAmp.on(context, Blobs.half());
            new SparkDl4jMultiLayer(
                            context,
                            Blobs.network(),
                            Averaging.master(1).trainingHooks(amp.hook()).build())
                    .fit(rdd());
        }
    }

    @Test
    void hookThatASharedTrainingMasterKeepsToItselfIsWarnedOf() {
        SparkAmp amp = SparkAmp.on(context);
        SharedTrainingMaster master = SharedGradients.tasksAsGiven();
        master.addHook(amp.hook());
        new SparkDl4jMultiLayer(context, Blobs.network(), master).fit(context.parallelize(Blobs.batches(20, 1), 1));
        assertWarnings(1);
        assertTrue(amp.state().isEmpty());
    }

    @Test
    void hookOfAContextThatIsStoppedIsRefusedInTheNext() {
        SparkAmp amp = SparkAmp.on(context, Averaging.UNUSUAL);
        ParameterAveragingTrainingMaster master =
                Averaging.master(1).trainingHooks(amp.hook()).build();
        SparkDl4jMultiLayer first = new SparkDl4jMultiLayer(context, Blobs.network(), master);
        first.fit(inOnePart());
        SparkReport report = amp.report();
        context.close();
        context = Cluster.start();
        SparkDl4jMultiLayer again = new SparkDl4jMultiLayer(context, first.getNetwork(), master);
        Exception error = assertThrows(Exception.class, () -> again.fit(inOnePart()));
        assertEquals(AmpException.class, error.getCause().getClass(), error::toString);
        assertTrue(error.getCause().getMessage().contains("SparkAmp.on(newContext, amp.state())"), error::toString);
        assertEquals(report, amp.report());

        SparkAmp goesOn = SparkAmp.on(context, amp.state().orElseThrow());
        new SparkDl4jMultiLayer(
                        context,
                        first.getNetwork(),
                        Averaging.master(1).trainingHooks(goesOn.hook()).build())
                .fit(inOnePart());
        SparkReport later = goesOn.report();
        assertEquals(20, later.stepsTaken() + later.stepsSkipped());
        assertEquals(
                Math.scalb(report.executors().get(0).lossScale(), -Math.toIntExact(later.stepsSkipped())),
                later.executors().get(0).lossScale());
    }

    @Test
    void manySparkAmpsLeaveOnePairOfListenersOnAContext() {
        SparkAmp.on(context);
        LiveListenerBus bus = context.sc().listenerBus();
        int before = bus.listeners().size();
        for (int i = 0; i < 20; i++) {
            SparkAmp.on(context, Blobs.half()).hook();
        }
        assertEquals(before, bus.listeners().size());
        assertEquals(
                1,
                bus.findListenersByClass(scala.reflect.ClassTag.apply(MissingClasses.class))
                        .size());
    }

    @Test
    void speculationWithSharedGradientsIsWarnedOf() {
        SparkAmp.on(context).listener();
        assertEquals(List.of(), lines.list);
        context.close();
        context = Cluster.start(Map.of("spark.speculation", "true"));
        SparkAmp.on(context).listener();
        assertEquals(1, lines.list.size());
        assertTrue(lines.list.get(0).getFormattedMessage().contains("spark.speculation is on"));
    }

    /** Spark tells its listeners on a thread of its own. */
    private void assertWarnings(int count) {
        try {
            context.sc().listenerBus().waitUntilEmpty();
        } catch (java.util.concurrent.TimeoutException e) {
            throw new IllegalStateException(e);
        }
        List<String> warnings = lines.list.stream()
                .map(ILoggingEvent::getFormattedMessage)
                .filter(line -> line.contains("went on without mixed precision"))
                .toList();
        assertEquals(count, warnings.size(), warnings::toString);
        warnings.forEach(line -> assertTrue(line.contains("SparkAmp.hook()") && line.contains("setListeners"), line));
    }

    private JavaRDD<DataSet> inOnePart() {
        return context.parallelize(Blobs.batches(20, 1), 1);
    }

    private JavaRDD<DataSet> rdd() {
        return context.parallelize(Blobs.batches(20, 1), 2);
    }
}
