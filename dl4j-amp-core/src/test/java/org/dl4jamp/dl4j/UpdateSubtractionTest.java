package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.conf.stepfunctions.NegativeDefaultStepFunction;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.solvers.accumulation.BasicGradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.LocalHandler;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** DL4J's optimizer, with its subtraction taken from it. */
class UpdateSubtractionTest {
    private final DataSet data = Networks.vectors(8, 20, 3);
    private final MultiLayerNetwork network = Networks.init(Networks.mlp());
    private final UpdateSubtraction subtraction = new UpdateSubtraction();

    private ConvexOptimizer optimizer() {
        network.getUpdater();
        return network.getOptimizer();
    }

    @Test
    void forestalledUpdatesAreNotSubtractedOnce() {
        MultiLayerNetwork expected = network.clone();
        subtraction.install(optimizer());
        assertTrue(subtraction.isLeftBy(optimizer()));
        INDArray before = network.params().dup();
        subtraction.forestall();
        network.fit(data);
        assertEquals(before, network.params());
        expected.fit(data);
        expected.params().assign(before);
        expected.fit(data);
        network.fit(data);
        assertNotEquals(before, network.params());
        assertEquals(expected.params(), network.params());
    }

    @Test
    void anotherAccumulatorStays() {
        GradientsAccumulator others = new BasicGradientsAccumulator(1, new LocalHandler());
        optimizer().setGradientsAccumulator(others);
        subtraction.install(optimizer());
        assertFalse(subtraction.isLeftBy(optimizer()));
        UpdateSubtraction.remove(optimizer());
        assertSame(others, optimizer().getGradientsAccumulator());
    }

    @Test
    void anotherStepFunctionStays() {
        network.conf().setStepFunction(new NegativeDefaultStepFunction());
        network.clear();
        subtraction.install(optimizer());
        assertNull(optimizer().getGradientsAccumulator());
    }

    @Test
    void isGivenBack() {
        subtraction.install(optimizer());
        UpdateSubtraction.remove(optimizer());
        assertNull(optimizer().getGradientsAccumulator());
    }
}
