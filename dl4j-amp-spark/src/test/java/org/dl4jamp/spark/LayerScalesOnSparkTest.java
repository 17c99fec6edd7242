package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;

/** Tasks whose layers have a scale of their own each train networks whose gradients would vanish in HALF. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LayerScalesOnSparkTest {
    private final JavaSparkContext context = Cluster.start();

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void stepsAreThoseOfFp32() {
        AmpConfig.Builder half =
                AmpConfig.builder().precision(Precision.HALF).engine("nd4j").lossScaler(new StaticLossScaler(1));
        INDArray fp32 = changeOfFirstWeights(AmpConfig.builder().precision(Precision.FLOAT));
        double length = fp32.norm2Number().doubleValue();
        assertEquals(0, changeOfFirstWeights(half).norm2Number().doubleValue(), 0.1 * length);
        assertEquals(0, changeOfFirstWeights(half.layerScales(true)).distance2(fp32), 0.05 * length);
    }

    /** Returns a network with so small a loss that gradients vanish in HALF at a scale of 1. */
    private static MultiLayerConfiguration vanishing() {
        MultiLayerConfiguration configuration = Blobs.network();
        configuration.getConfs().forEach(each -> ((BaseLayer) each.getLayer()).setIUpdater(new Sgd(1e7)));
        ((BaseOutputLayer) configuration.getConf(3).getLayer())
                .setLossFn(new LossMCXENT(Nd4j.valueArrayOf(new long[] {1, 4}, 1e-8, DataType.FLOAT)));
        return configuration;
    }

    private INDArray changeOfFirstWeights(AmpConfig.Builder config) {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                context,
                MixedPrecision.configure(vanishing(), config.build()),
                Averaging.master(Cluster.CORES).trainingHooks(amp.hook()).build());
        INDArray before = spark.getNetwork().getParam("0_W").dup();
        spark.fit(context.parallelize(Blobs.batches(40, 1), Cluster.CORES));
        assertEquals(40, amp.report().stepsTaken());
        return spark.getNetwork().getParam("0_W").sub(before);
    }
}
