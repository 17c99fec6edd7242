package org.dl4jamp.inference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ParameterWatchTest {
    private static Layer layer(int in, int out) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new DenseLayer.Builder().nIn(in).nOut(out).build())
                .build());
        network.init();
        return network.getLayer(0);
    }

    private static ParameterWatch watch(Layer layer) {
        ParameterWatch watch = new ParameterWatch(layer);
        watch.remember();
        return watch;
    }

    private static int questionsUntilNoticed(ParameterWatch watch) {
        for (int i = 1; i <= ParameterWatch.SLICES; i++) {
            if (watch.hasChanged()) {
                return i;
            }
        }
        throw new AssertionError("not noticed in " + ParameterWatch.SLICES + " questions");
    }

    @Test
    void numbersThatStayAreNotTakenForChanged() {
        ParameterWatch watch = watch(layer(300, 200));
        for (int i = 0; i < 3 * ParameterWatch.SLICES; i++) {
            assertFalse(watch.hasChanged());
        }
    }

    @Test
    void theLastBitOfAnyNumberIsNoticedWithinSixtyFourQuestions() {
        Layer layer = layer(300, 200);
        ParameterWatch watch = watch(layer);
        INDArray parameters = layer.params();
        Random random = new Random(5);
        for (int i = 0; i < 200; i++) {
            long position = i == 0 ? parameters.length() - 1 : random.nextInt((int) parameters.length());
            float before = parameters.getFloat(position);
            parameters.putScalar(position, Math.nextUp(before));
            questionsUntilNoticed(watch);
            parameters.putScalar(position, before);
            watch.remember();
        }
    }

    @Test
    void zeroIsNotMinusZero() {
        Layer layer = layer(4, 3);
        layer.params().assign(0);
        ParameterWatch watch = watch(layer);
        layer.params().putScalar(7, -0.0f);
        assertTrue(watch.hasChanged());
    }

    @Test
    void newNumbersAreNoticedAtOnce() {
        Layer layer = layer(300, 200);
        ParameterWatch watch = watch(layer);
        INDArray biases = layer.getParam("b");
        biases.assign(Nd4j.rand(DataType.FLOAT, biases.shape()));
        assertTrue(watch.hasChanged());
        watch.remember();
        assertFalse(watch.hasChanged());
        layer.setParams(Nd4j.rand(DataType.FLOAT, layer.params().shape()));
        assertTrue(watch.hasChanged());
    }

    @Test
    void whatNd4jHasToReadIsComparedAsWell() {
        INDArray scattered = Nd4j.rand(DataType.FLOAT, 50, 40).transpose();
        ParameterBits bits = ParameterBits.of(scattered);
        int sum = bits.sum(0, bits.length());
        long[] positions = {0, 17, 1999};
        int[] values = new int[3];
        bits.read(positions, values);
        assertTrue(bits.are(positions, values));
        scattered.putScalar(39, 49, Math.nextUp(scattered.getFloat(39, 49)));
        assertFalse(bits.are(positions, values));
        assertTrue(sum != bits.sum(0, bits.length()));
    }

    /** A buffer is made of the first sixteen million once, of others each time. */
    @Test
    void numbersFarBehindAreComparedAsWell() {
        long border = 1L << 24;
        INDArray parameters = Nd4j.zeros(DataType.FLOAT, border + 1000);
        ParameterBits bits = ParameterBits.of(parameters);
        long[] positions = {0, border - 1, border, border + 999};
        int[] values = new int[positions.length];
        bits.read(positions, values);
        int sum = bits.sum(border - 500, 1000);
        assertTrue(bits.are(positions, values));
        for (long position : positions) {
            parameters.putScalar(position, 1);
            assertFalse(bits.are(positions, values), "number " + position);
            boolean inRange = position >= border - 500 && position < border + 500;
            assertEquals(inRange, sum != bits.sum(border - 500, 1000), "number " + position);
            parameters.putScalar(position, 0);
        }
        assertTrue(bits.are(positions, values));
    }

    @Test
    void anotherArrayIsRefused() {
        Layer layer = layer(4, 3);
        ParameterWatch watch = watch(layer);
        layer.setParamsViewArray(layer.params().dup());
        AmpException e = assertThrows(AmpException.class, watch::hasChanged);
        assertTrue(e.getMessage().contains("setParamsViewArray"), e.getMessage());
    }
}
