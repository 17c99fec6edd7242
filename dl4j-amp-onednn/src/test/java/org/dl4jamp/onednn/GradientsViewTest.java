package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** A gradient view that is made anew, while this engine's updaters move the parameters. */
class GradientsViewTest {
    private static final AmpConfig CONFIG =
            AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();

    @Test
    void trainingGoesOnOverTheNewView() {
        MultiLayerNetwork undisturbed = Networks.init(Networks.cnn());
        MultiLayerNetwork network = undisturbed.clone();
        DataSet images = Networks.images(8, 3, 12, 3);
        MixedPrecision.enable(undisturbed, CONFIG);
        MixedPrecision amp = MixedPrecision.enable(network, CONFIG);
        for (int step = 0; step < 6; step++) {
            if (step == 2) {
                network.initGradientsView();
            }
            undisturbed.fit(images);
            network.fit(images);
        }
        assertEquals(6, amp.stepsTaken());
        assertClose(undisturbed.params(), network.params());
    }

    @Test
    void trainingOfAGraphGoesOnOverTheNewView() {
        ComputationGraph undisturbed = Networks.init(Networks.residual());
        ComputationGraph graph = undisturbed.clone();
        DataSet images = Networks.images(8, 3, 8, 3);
        MixedPrecision.enable(undisturbed, CONFIG);
        MixedPrecision amp = MixedPrecision.enable(graph, CONFIG);
        for (int step = 0; step < 6; step++) {
            if (step == 2) {
                graph.initGradientsView();
            }
            undisturbed.fit(images);
            graph.fit(images);
        }
        amp.close();
        assertClose(undisturbed.params(), graph.params());
    }

    private static void assertClose(INDArray expected, INDArray actual) {
        double difference = expected.sub(actual).norm2Number().doubleValue();
        assertEquals(0, difference / expected.norm2Number().doubleValue(), 1e-5);
    }

    @Test
    void whatIsDividedByTheMinibatchCanBeRead() {
        MultiLayerNetwork plain = Networks.init(Networks.cnn());
        MultiLayerNetwork network = plain.clone();
        DataSet images = Networks.images(4, 3, 12, 3);
        MixedPrecision.enable(network, CONFIG);
        plain.fit(images);
        network.fit(images);
        var expected = ((BaseMultiLayerUpdater<?>) plain.getUpdater()).getGradientsForMinibatchDivision();
        var actual = ((BaseMultiLayerUpdater<?>) network.getUpdater()).getGradientsForMinibatchDivision();
        assertNotNull(actual);
        assertEquals(
                expected.stream().map(INDArray::length).toList(),
                actual.stream().map(INDArray::length).toList());
    }
}
