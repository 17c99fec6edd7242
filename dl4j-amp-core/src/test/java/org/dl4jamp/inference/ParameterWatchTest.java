package org.dl4jamp.inference;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.inference.WatchedWeights.ParameterWatch;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ParameterWatchTest {
    private static Layer layer(int in, int out) {
        return network(in, out).getLayer(0);
    }

    private static MultiLayerNetwork network(int in, int out) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new DenseLayer.Builder().nIn(in).nOut(out).build())
                .build());
    }

    private static ParameterWatch watch(Layer layer) {
        ParameterWatch watch = new ParameterWatch(layer, Nd4j.getEnvironment().isCPU());
        watch.remember();
        return watch;
    }

    @Test
    void numbersThatStayAreNotTakenForChanged() {
        ParameterWatch watch = watch(layer(300, 200));
        for (int i = 0; i < 3; i++) {
            assertFalse(watch.hasChanged());
        }
    }

    @Test
    void theLastBitOfANumberInTheSampleIsNoticedAndOneBesideItIsNot() {
        Layer layer = layer(300, 200);
        ParameterWatch watch = watch(layer);
        INDArray weights = layer.getParam("W");
        long distance = weights.length() / ParameterWatch.SAMPLE;
        INDArray parameters = layer.params();
        // The sample goes through the array in its order in memory, four numbers at a time.
        for (int i = 0; i < ParameterWatch.SAMPLE; i++) {
            long position = i / 4 * 4L * weights.length() / ParameterWatch.SAMPLE + i % 4;
            float before = parameters.getFloat(position);
            parameters.putScalar(position, Math.nextUp(before));
            assertTrue(watch.hasChanged(), "number " + position);
            parameters.putScalar(position, before);
            assertFalse(watch.hasChanged());
        }
        parameters.putScalar(distance / 2, 7);
        assertFalse(watch.hasChanged(), "such changes take refresh()");
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "1, 2", "2, 1", "3, 5", "21, 3", "8, 8", "12, 5"})
    void eachNumberOfSmallArraysIsNoticed(int in, int out) {
        Layer layer = layer(in, out);
        for (boolean inHost : new boolean[] {true, false}) {
            ParameterWatch watch = new ParameterWatch(layer, inHost);
            watch.remember();
            INDArray parameters = layer.params();
            for (int position = 0; position < layer.numParams(); position++) {
                float before = parameters.getFloat(position);
                parameters.putScalar(position, Math.nextUp(before));
                assertTrue(watch.hasChanged(), "number " + position);
                parameters.putScalar(position, before);
                assertFalse(watch.hasChanged());
            }
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
        biases.assign(Networks.uniform(1, biases.shape()));
        assertTrue(watch.hasChanged());
        watch.remember();
        assertFalse(watch.hasChanged());
        layer.setParams(Networks.uniform(2, layer.params().shape()));
        assertTrue(watch.hasChanged());
    }

    @Test
    void whatNd4jHasToReadIsComparedAsWell() {
        Layer layer = layer(50, 40);
        ParameterWatch watch = new ParameterWatch(layer, false);
        watch.remember();
        assertFalse(watch.hasChanged());
        INDArray parameters = layer.params();
        for (long position : new long[] {0, 2000}) {
            parameters.putScalar(position, Math.nextUp(parameters.getFloat(position)));
            assertTrue(watch.hasChanged(), "number " + position);
            watch.remember();
            assertFalse(watch.hasChanged());
        }
    }

    @Test
    void parametersThatWereFreedAreRefusedAndNotRead() {
        MultiLayerNetwork network = network(30, 20);
        ParameterWatch watch = watch(network.getLayer(0));
        network.close();
        AmpException e = assertThrows(AmpException.class, watch::hasChanged);
        assertTrue(e.getMessage().contains("close()"), e.getMessage());
        assertThrows(AmpException.class, watch::remember);
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
