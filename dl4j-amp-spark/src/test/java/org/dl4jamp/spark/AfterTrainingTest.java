package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** What documents say of the time after {@code spark.fit}: saving, and computing with the network. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AfterTrainingTest {
    @TempDir
    private Path folder;

    private final JavaSparkContext context = Cluster.start();

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void savedFileHasTheClustersScaleCountsAndSettingsAndGoesBackToACluster() throws IOException {
        SparkAmp amp = SparkAmp.on(context, Averaging.UNUSUAL);
        SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                context,
                Blobs.network(),
                Averaging.master(1).trainingHooks(amp.hook()).build());
        List<DataSet> data = Blobs.copies(20);
        spark.fit(context.parallelize(data, 1));
        File file = folder.resolve("model.zip").toFile();
        try (MixedPrecision goesOn = amp.enable(spark.getNetwork())) {
            AmpModelSerializer.writeModel(spark.getNetwork(), file, true);
            assertTrue(goesOn.stepsSkipped() > 0);
        }
        MultiLayerNetwork restored = AmpModelSerializer.restoreMultiLayerNetwork(file);
        AmpState state = MixedPrecision.of(restored).orElseThrow().state();
        assertEquals(amp.state().orElseThrow().toString(), state.toString());
        MixedPrecision.of(restored).orElseThrow().close();

        SparkAmp again = SparkAmp.on(context, state);
        Witness witness = new Witness(context);
        new SparkDl4jMultiLayer(
                        context,
                        restored,
                        Averaging.master(1).trainingHooks(again.hook(), witness).build())
                .fit(context.parallelize(data, 1));
        spark.fit(context.parallelize(data, 1));
        assertEquals(
                Set.of(Averaging.describe(Averaging.UNUSUAL)),
                witness.seen().stream().map(Witness.Seen::mixedPrecision).collect(Collectors.toSet()));
        Averaging.assertClose(spark.getNetwork().params(), restored.params());
    }

    @Test
    void inferenceModeComputesInTasksOfAProgramsOwn() {
        MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
        network.init();
        INDArray features = Blobs.batches(1, 5).get(0).getFeatures();
        String configuration = network.getLayerWiseConfigurations().toJson();
        INDArray parameters = network.params();
        List<INDArray> outputs = context.parallelize(List.of(features, features), 2)
                .mapPartitions(parts -> {
                    MultiLayerNetwork copy = new MultiLayerNetwork(MultiLayerConfiguration.fromJson(configuration));
                    copy.init(parameters, true);
                    AmpConfig config = AmpConfig.builder()
                            .precision(Precision.FLOAT)
                            .engine("onednn")
                            .build();
                    try (InferenceMode mode = MixedPrecision.inference(copy, config)) {
                        assertEquals("onednn", mode.engine());
                        return List.of(copy.output(parts.next())).iterator();
                    }
                })
                .collect();
        INDArray expected = network.output(features);
        assertEquals(2, outputs.size());
        outputs.forEach(output -> Averaging.assertClose(expected, output));
    }
}
