package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class OwnGradientTest {
    private final INDArray view = Nd4j.rand(DataType.FLOAT, 1, 10);

    @Test
    void handsTheNetworksViewOut() {
        DefaultGradient gradient = new DefaultGradient(view);
        gradient.setGradientFor("0_W", view.reshape(2, 5));
        Gradient own = OwnGradient.of(view, gradient);
        assertSame(view, own.gradient());
        assertEquals(gradient.gradientForVariable(), own.gradientForVariable());
    }

    @Test
    void leavesGradientsInOtherMemoryAlone() {
        Gradient copy = new DefaultGradient(view.dup());
        assertSame(copy, OwnGradient.of(view, copy));
        Gradient part = new DefaultGradient(view.reshape(10).get(NDArrayIndex.interval(0, 5)));
        assertSame(part, OwnGradient.of(view, part));
    }
}
