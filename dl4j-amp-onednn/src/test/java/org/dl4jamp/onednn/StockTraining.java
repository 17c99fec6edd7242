package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Trains a network of images in stock DL4J and on this engine, in each precision. */
public final class StockTraining {
    private static final int STEPS = 3;
    private static final double FLOAT_ERROR = 1e-5;
    private static final double HALF_ERROR = 0.03;

    private StockTraining() {}

    /**
     * Asserts that parameters and outputs agree, and that the engine computes all layers.
     *
     * @param network for 8×8 images of 3 channels and 3 classes; left as it is
     * @param layer the index of the layer that the plan has to give the precision
     */
    public static void assertAgrees(MultiLayerNetwork network, CNN2DFormat format, int layer) {
        DataSet data = Networks.images(6, 3, 8, 3);
        if (format == CNN2DFormat.NHWC) {
            data.setFeatures(data.getFeatures().permute(0, 2, 3, 1).dup('c'));
        }
        MultiLayerNetwork stock = network.clone();
        train(stock, data);
        INDArray output = stock.output(data.getFeatures().dup());
        for (Precision precision : new Precision[] {Precision.FLOAT, Types.halfPrecision()}) {
            double tolerance = precision == Precision.FLOAT ? FLOAT_ERROR : HALF_ERROR;
            MultiLayerNetwork own = network.clone();
            AmpConfig config = AmpConfig.builder()
                    .engine(OneDnnEngine.NAME)
                    .precision(precision)
                    .build();
            try (MixedPrecision amp = MixedPrecision.enable(own, config)) {
                amp.plan().rows().forEach(row -> assertEquals(OneDnnEngine.NAME, row.engine(), row::toString));
                assertEquals(precision, amp.plan().rows().get(layer).precision());
                train(own, data);
                Agreement.assertWithin("parameters", stock.params(), own.params(), tolerance);
                Agreement.assertWithin(
                        "output", output, own.output(data.getFeatures().dup()), tolerance);
            }
            try (InferenceMode mode = MixedPrecision.inference(own, config)) {
                Agreement.assertWithin(
                        "output", output, own.output(data.getFeatures().dup()), tolerance);
            }
        }
    }

    private static void train(MultiLayerNetwork network, DataSet data) {
        Nd4j.getRandom().setSeed(5);
        for (int i = 0; i < STEPS; i++) {
            network.fit(data);
        }
    }
}
