package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.listeners.SkipForensics;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.dataset.DataSet;
import org.slf4j.LoggerFactory;

/** {@link SkipForensics} in tasks: the log of each executor names the layer that overflowed. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ForensicsOnSparkTest {
    private static final Logger LOG = (Logger) LoggerFactory.getLogger(SkipForensics.class);

    /** All gradients that flow in HALF overflow. */
    private static final AmpConfig TOO_LARGE = AmpConfig.builder()
            .precision(Precision.HALF)
            .engine("nd4j")
            .lossScaler(new StaticLossScaler(0x1p60))
            .build();

    private final JavaSparkContext context = Cluster.start();
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            lines.add(event.getFormattedMessage());
        }
    };

    @BeforeEach
    void listen() {
        appender.start();
        LOG.addAppender(appender);
    }

    @AfterEach
    void stop() {
        LOG.detachAppender(appender);
        context.close();
    }

    @Test
    void withParameterAveraging() {
        SparkAmp amp = SparkAmp.on(context, TOO_LARGE);
        SparkDl4jMultiLayer network = new SparkDl4jMultiLayer(
                context,
                Blobs.network(),
                Averaging.master(Cluster.CORES).trainingHooks(amp.hook()).build());
        network.setListeners(List.of(new SkipForensics(2, 5)));
        network.fit(rdd());
        assertEquals(0, amp.report().stepsTaken());
        assertNamed();
    }

    @Test
    void withSharedGradients() throws Exception {
        SparkAmp amp = SparkAmp.on(context, TOO_LARGE);
        SharedGradients.network(context, Blobs.network(), amp.listener(), new SkipForensics(2, 5))
                .fit(rdd());
        assertEquals(0, amp.report().stepsTaken());
        assertNamed();
        Turn.await(() -> false).close();
    }

    private void assertNamed() {
        assertFalse(lines.isEmpty());
        for (String line : lines) {
            assertTrue(line.contains("gradient of W of \"layer2\""), line);
        }
    }

    private JavaRDD<DataSet> rdd() {
        return context.parallelize(Blobs.batches(10, 1), Cluster.CORES);
    }
}
