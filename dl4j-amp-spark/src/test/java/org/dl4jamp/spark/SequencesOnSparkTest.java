package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Attention and LSTMs with peepholes on oneDNN in a task on Spark, against a stock network on the same batches. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SequencesOnSparkTest {
    private static final int FEATURES = 5;
    private static final int UNITS = 8;
    private static final int STEPS = 10;

    private static MultiLayerConfiguration network() {
        return new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(3e-3))
                .list()
                .layer(new GravesLSTM.Builder()
                        .nIn(FEATURES)
                        .nOut(UNITS)
                        .activation(Activation.TANH)
                        .build())
                .layer(new SelfAttentionLayer.Builder()
                        .nIn(UNITS)
                        .nOut(UNITS)
                        .nHeads(2)
                        .projectInput(true)
                        .build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nIn(UNITS)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build())
                .build();
    }

    @Test
    void aTasksStepsAreThoseOfStock() {
        Nd4j.getRandom().setSeed(5);
        List<DataSet> batches = Collections.nCopies(
                STEPS,
                new DataSet(
                        Nd4j.randn(DataType.FLOAT, Blobs.BATCH, FEATURES, 6),
                        Nd4j.randn(DataType.FLOAT, Blobs.BATCH, 2, 6)));
        AmpConfig config =
                AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
        MultiLayerNetwork stock = new MultiLayerNetwork(network());
        stock.init();
        batches.forEach(stock::fit);
        try (JavaSparkContext context = Cluster.start()) {
            SparkAmp amp = SparkAmp.on(context);
            SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                    context,
                    MixedPrecision.configure(network(), config),
                    Averaging.master(1).trainingHooks(amp.hook()).build());
            spark.fit(context.parallelize(batches, 1));
            SparkReport report = amp.report();
            assertEquals(STEPS, report.stepsTaken(), report::toString);
            assertEquals("onednn", report.executors().get(0).engine(), report::toString);
            Averaging.assertClose(stock.params(), spark.getNetwork().params());
        }
    }
}
