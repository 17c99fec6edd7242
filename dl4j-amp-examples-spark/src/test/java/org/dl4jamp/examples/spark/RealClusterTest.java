package org.dl4jamp.examples.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.spark.SparkAmp;
import org.dl4jamp.spark.SparkReport;
import org.dl4jamp.spark.Witness;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** The digits on a master, two workers and two executors, each a process of its own. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 60, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RealClusterTest {
    private static final int WORKERS = 2;
    private static final int FREQUENCY = 10;
    private static final int EPOCHS = 16;
    private static final int RUNS = Integer.getInteger("amp.spark.runs", 5);
    private static final int KILLS = Integer.getInteger("amp.spark.kills", 20);

    /** FP32 and defaults are none of these. In HALF the first steps overflow. */
    private static final List<AmpConfig> CONFIGS = List.of(
            AmpConfig.builder().engine("onednn").maxConsecutiveSkips(33).build(),
            AmpConfig.builder()
                    .precision(Precision.HALF)
                    .engine("nd4j")
                    .lossScaler(DynamicLossScaler.builder()
                            .initialScale(Math.scalb(1.0, 24))
                            .build())
                    .clipGradientNorm(100)
                    .build());

    @Test
    void accuracyIsThatOfFp32WithinAPointAndKilledExecutorsCostNothing() throws Exception {
        LoopbackCluster cluster = LoopbackCluster.start(WORKERS);
        List<ProcessHandle> executors;
        try (cluster;
                JavaSparkContext context = AmpSpark.connect(cluster)) {
            DigitsOnSpark digits = new DigitsOnSpark(context, WORKERS, FREQUENCY);
            List<Double> fp32 = new ArrayList<>();
            for (int run = 0; run < RUNS; run++) {
                fp32.add(digits.inFp32(EPOCHS, epoch -> {}).accuracy());
            }
            for (AmpConfig config : CONFIGS) {
                List<Double> mixed = new ArrayList<>();
                for (int run = 0; run < RUNS; run++) {
                    mixed.add(train(context, digits, config, -1, cluster));
                }
                System.out.printf("FP32 %s, mixed %s with %s%n", fp32, mixed, config);
                assertEquals(median(fp32), median(mixed), 0.01, () -> fp32 + " in FP32, " + mixed + " with " + config);
            }
            Random random = new Random(1);
            for (int run = 0; run < KILLS; run++) {
                double accuracy =
                        train(context, digits, CONFIGS.get(run % CONFIGS.size()), random.nextInt(EPOCHS / 2), cluster);
                assertEquals(median(fp32), accuracy, 0.03, "run " + run);
            }
            executors = cluster.executors();
            assertEquals(WORKERS, executors.size());
        }
        executors.forEach(each -> assertFalse(each.isAlive(), each::toString));
        assertTrue(Files.notExists(cluster.folder()));
    }

    /** Trains, and ends an executor at some moment after an epoch; each step has to be counted once. */
    private static double train(
            JavaSparkContext context, DigitsOnSpark digits, AmpConfig config, int killAfter, LoopbackCluster cluster) {
        SparkAmp amp = SparkAmp.on(context);
        List<Long> killed = Collections.synchronizedList(new ArrayList<>());
        Random random = new Random(killAfter);
        Witness witness = new Witness(context);
        DigitsOnSpark.Figures figures = digits.inMixedPrecision(
                amp,
                config,
                EPOCHS,
                epoch -> {
                    if (epoch == killAfter) {
                        // Well before the end: the epochs that are left take longer.
                        int pause = random.nextInt(1000);
                        Thread killer = new Thread(() -> {
                            try {
                                Thread.sleep(pause);
                            } catch (InterruptedException e) {
                                Thread.currentThread().interrupt();
                            }
                            cluster.killExecutor(pause).ifPresent(killed::add);
                        });
                        killer.setDaemon(true);
                        killer.start();
                    }
                },
                witness);
        SparkReport report = amp.report();
        assertEquals(figures.steps(), report.stepsTaken() + report.stepsSkipped(), report::toString);
        witness.requireEveryStep(ResidualOnCluster.describe(config));
        if (config.precision() == Precision.HALF) {
            witness.requireSkips();
            assertTrue(report.stepsSkipped() > 0, report::toString);
        }
        assertTrue(killAfter < 0 || killed.size() == 1, "no executor was killed");
        return figures.accuracy();
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }
}
