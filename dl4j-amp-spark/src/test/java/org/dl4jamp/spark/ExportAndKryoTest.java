package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.api.TrainingHook;
import org.deeplearning4j.spark.impl.graph.SparkComputationGraph;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.dl4jamp.MixedPrecision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.dataset.DataSet;

/**
 * Other ways of Spark's and DL4J's to send things: Kryo in place of Java's serialization, and batches by way of files.
 */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ExportAndKryoTest {
    private static final Map<String, String> KRYO = Map.of(
            // DL4J takes no other way of writing it for a cluster that can read local files.
            "spark.master", "local[2]",
            "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator", "org.nd4j.kryo.Nd4jRegistrator");

    @TempDir
    private Path folder;

    @Test
    void batchesMayComeByWayOfFilesAndEverythingByKryo() {
        try (JavaSparkContext context = Cluster.start(KRYO)) {
            for (RDDTrainingApproach approach : RDDTrainingApproach.values()) {
                SparkAmp amp = SparkAmp.on(context);
                Witness witness = new Witness(context);
                SparkDl4jMultiLayer network = new SparkDl4jMultiLayer(
                        context,
                        MixedPrecision.configure(Blobs.network(), Averaging.UNUSUAL),
                        master(approach, amp.hook(), witness));
                network.fit(rdd(context));
                network.fit(rdd(context));
                witness.requireEveryStep(Math.toIntExact(steps(amp)), Averaging.describe(Averaging.UNUSUAL));
                assertTrue(steps(amp) > 20, () -> approach + "\n" + amp.report());

                SparkAmp ofGraph = SparkAmp.on(context, Averaging.UNUSUAL);
                Witness witnessOfGraph = new Witness(context);
                SparkComputationGraph graph = new SparkComputationGraph(
                        context, Blobs.graph(), master(approach, ofGraph.hook(), witnessOfGraph));
                graph.fit(rdd(context));
                witnessOfGraph.requireEveryStep(
                        Math.toIntExact(steps(ofGraph)), Averaging.describeGraph(Averaging.UNUSUAL));
                assertTrue(ofGraph.report().stepsSkipped() > 0, () -> approach + "\n" + ofGraph.report());
            }
        }
    }

    private static long steps(SparkAmp amp) {
        return amp.report().stepsTaken() + amp.report().stepsSkipped();
    }

    private static JavaRDD<DataSet> rdd(JavaSparkContext context) {
        return context.parallelize(Blobs.batches(20, 1), 1);
    }

    private ParameterAveragingTrainingMaster master(RDDTrainingApproach approach, TrainingHook... hooks) {
        return Averaging.master(1)
                .rddTrainingApproach(approach)
                .exportDirectory(folder.toUri().toString())
                .trainingHooks(hooks)
                .build();
    }
}
