package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.dl4jamp.SingleLayer;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ExternalErrorsTest {
    /** Attention of one time step to itself returns its input. */
    @Test
    void isTheFactorOfTheGradientsOfAnAttentionLayer() {
        Layer attention = SingleLayer.dl4j(
                new SelfAttentionLayer.Builder()
                        .nIn(3)
                        .nOut(3)
                        .nHeads(1)
                        .projectInput(false)
                        .build(),
                null);
        INDArray input = Nd4j.createFromArray(1f, -2f, 3f).reshape(1, 3, 1);
        INDArray epsilon = Nd4j.createFromArray(0.5f, 4f, -1f).reshape(1, 3, 1);
        SingleLayer.Result result = SingleLayer.run(attention, input, epsilon);
        assertEquals(input, result.output());
        assertEquals(epsilon.mul(ExternalErrors.factor()), result.inputGradient());
    }
}
