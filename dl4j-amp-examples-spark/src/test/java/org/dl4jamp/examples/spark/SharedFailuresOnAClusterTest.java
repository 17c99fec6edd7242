package org.dl4jamp.examples.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.spark.impl.graph.SparkComputationGraph;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.digits.Digits;
import org.dl4jamp.examples.digits.DigitsNetworks;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.spark.SparkAmp;
import org.dl4jamp.spark.SparkReport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.parameterserver.distributed.v2.transport.PortSupplier;

/** Shared gradients of executors, each a process of its own, that can't connect. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SharedFailuresOnAClusterTest {
    private static final int WORKERS = 2;
    private static final AmpConfig CONFIG =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();

    private final List<DataSet> data = Digits.load().range(0, 640).batches(DigitsOnSpark.BATCH);

    private LoopbackCluster cluster;
    private JavaSparkContext context;
    private SparkAmp amp;
    private DatagramSocket taken;

    @BeforeEach
    void start() throws Exception {
        taken = new DatagramSocket(0, InetAddress.getLoopbackAddress());
        cluster = LoopbackCluster.start(WORKERS);
        context =
                new JavaSparkContext(SharedGradientsTest.configuration(cluster).set("spark.task.maxFailures", "3"));
        AmpSpark.awaitExecutors(cluster, context);
        amp = SparkAmp.on(context, CONFIG);
    }

    @AfterEach
    void stop() throws InterruptedException {
        awaitConnections();
        context.close();
        cluster.close();
        taken.close();
    }

    /**
     * Waits until the driver connects to nobody. For each attempt of an executor that can't be reached its thread waits
     * ten seconds, and DL4J's next master in this JVM would unmap the memory that it goes on with.
     */
    private static void awaitConnections() throws InterruptedException {
        for (int quiet = 0; quiet < 20; quiet++) {
            Thread.sleep(100);
            if (isConnecting()) {
                quiet = 0;
            }
        }
    }

    private static boolean isConnecting() {
        return Thread.getAllStackTraces().values().stream()
                .flatMap(Arrays::stream)
                .anyMatch(call -> call.getClassName().endsWith(".AeronUdpTransport")
                        && call.getMethodName().equals("addConnection"));
    }

    @Test
    void portsThatAreFreeInTheSecondAttemptAreTakenThenAndEveryStepIsCountedOnce() {
        SparkComputationGraph spark = network(new TakenPort(taken.getLocalPort(), 1));
        INDArray before = spark.getNetwork().params().dup();
        spark.fit(context.parallelize(data, WORKERS));
        // Executors that are connected to themselves would train, too.
        assertTrue(spark.getNetwork().params().distance2(before) > 0.01);
        SparkReport report = amp.report();
        assertEquals(data.size(), report.stepsTaken(), report::toString);
        assertEquals(WORKERS, report.executors().size(), report::toString);
        spark.fit(context.parallelize(data, WORKERS));
        assertEquals(2L * data.size(), amp.report().stepsTaken());
    }

    @Test
    void portsThatAreNeverFreeEndTheFitWithWhatToDo() {
        SparkComputationGraph spark = network(new TakenPort(taken.getLocalPort(), Integer.MAX_VALUE));
        Exception error = assertThrows(Exception.class, () -> spark.fit(context.parallelize(data, WORKERS)));
        assertTrue(error.getMessage().contains("can't be opened"), error.getMessage());
        assertTrue(error.getMessage().contains("PortSupplier"), error.getMessage());
        assertEquals(0, amp.report().stepsTaken());
    }

    private SparkComputationGraph network(PortSupplier port) {
        SparkComputationGraph spark =
                new SparkComputationGraph(context, DigitsNetworks.residual(), ResidualOnCluster.sharedGradients(port));
        spark.setListeners(List.<TrainingListener>of(amp.listener()));
        return spark;
    }
}
