package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.RareLayers;
import org.dl4jamp.onednn.user.SquaredRelu;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/**
 * Layers that few networks have, on oneDNN in a task on Spark, against a stock network on the same batches. The task
 * skips a batch whose gradient isn't finite, which the stock network doesn't get.
 */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RareLayersOnSparkTest {
    private static final int STEPS = 9;

    private static JavaSparkContext context;

    @BeforeAll
    static void start() {
        context = Cluster.start();
    }

    @AfterAll
    static void stop() {
        context.close();
    }

    @ParameterizedTest
    @EnumSource
    void aTasksStepsAreThoseOfStock(RareLayers rare) {
        int passes = SquaredRelu.Kernel.PASSES.get();
        assertStepsAreThoseOfStock(context, rare, "onednn");
        assertEquals(rare == RareLayers.OWN, SquaredRelu.Kernel.PASSES.get() > passes);
    }

    static void assertStepsAreThoseOfStock(JavaSparkContext context, RareLayers rare, String engine) {
        List<DataSet> batches = new ArrayList<>(Collections.nCopies(STEPS, rare.batch(Blobs.BATCH, 1)));
        MultiLayerNetwork stock = new MultiLayerNetwork(rare.network());
        stock.init();
        batches.forEach(stock::fit);
        // Whatever order the batches come in: a skipped step changes nothing.
        batches.add(rare.brokenBatch(Blobs.BATCH, 2));
        AmpConfig config =
                AmpConfig.builder().engine(engine).precision(Precision.FLOAT).build();
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                context,
                MixedPrecision.configure(rare.network(), config),
                Averaging.master(1).trainingHooks(amp.hook()).build());
        spark.fit(context.parallelize(batches, 1));
        SparkReport report = amp.report();
        assertEquals(STEPS, report.stepsTaken(), report::toString);
        assertEquals(1, report.stepsSkipped(), report::toString);
        assertEquals(engine, report.executors().get(0).engine(), report::toString);
        INDArray expected = stock.params();
        double error = expected.distance2(spark.getNetwork().params());
        double most = 1e-5 * expected.norm2Number().doubleValue();
        assertTrue(error <= most, () -> rare + ": " + error + " beside " + most);
    }
}
