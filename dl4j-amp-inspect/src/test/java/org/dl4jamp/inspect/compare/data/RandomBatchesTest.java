package org.dl4jamp.inspect.compare.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class RandomBatchesTest {
    private static List<MultiDataSet> batches(Model network, long seed) {
        return RandomBatches.of(network, new BatchSettings(6, 2, 4, seed, List.of()));
    }

    private static void assertOneHot(INDArray labels) {
        INDArray sums = labels.sum(1);
        assertEquals(Nd4j.onesLike(sums), sums);
        for (float label : labels.dup().data().asFloat()) {
            assertTrue(label == 0 || label == 1, "label " + label);
        }
    }

    @Test
    void theSeedMakesTheNumbers() {
        assertEquals(batches(DataNetworks.classifier(), 5), batches(DataNetworks.classifier(), 5));
        assertNotEquals(batches(DataNetworks.classifier(), 5), batches(DataNetworks.classifier(), 6));
        List<MultiDataSet> two = batches(DataNetworks.classifier(), 5);
        assertEquals(2, two.size());
        assertNotEquals(two.get(0), two.get(1));
    }

    @Test
    void classifiersGetOneClassForEachExample() {
        MultiDataSet batch = batches(DataNetworks.classifier(), 1).get(0);
        assertArrayEquals(new long[] {6, 2}, batch.getFeatures(0).shape());
        assertArrayEquals(new long[] {6, 3}, batch.getLabels(0).shape());
        assertOneHot(batch.getLabels(0));
    }

    @Test
    void sequencesGetOneClassForEachTimeStep() {
        MultiDataSet batch = batches(DataNetworks.sequences(), 1).get(0);
        assertArrayEquals(new long[] {6, 2, 4}, batch.getFeatures(0).shape());
        assertArrayEquals(new long[] {6, 3, 4}, batch.getLabels(0).shape());
        assertOneHot(batch.getLabels(0));
    }

    @Test
    void embeddingsGetSymbolsAndSigmoidsGetBits() {
        MultiDataSet batch = batches(DataNetworks.symbols(), 1).get(0);
        for (float symbol : batch.getFeatures(0).dup().data().asFloat()) {
            assertTrue(symbol >= 0 && symbol < 7 && symbol == Math.rint(symbol), "symbol " + symbol);
        }
        for (float bit : batch.getLabels(0).dup().data().asFloat()) {
            assertTrue(bit == 0 || bit == 1, "bit " + bit);
        }
    }

    @Test
    void labelsSuitTheLoss() {
        MultiDataSet hinge = batches(
                        DataNetworks.of(
                                InputType.feedForward(2),
                                DataNetworks.dense(),
                                DataNetworks.output(LossFunction.HINGE, Activation.IDENTITY, 8)),
                        1)
                .get(0);
        for (float sign : hinge.getLabels(0).dup().data().asFloat()) {
            assertEquals(1, Math.abs(sign));
        }
        MultiDataSet poisson = batches(
                        DataNetworks.of(
                                InputType.feedForward(2),
                                DataNetworks.dense(),
                                DataNetworks.output(LossFunction.POISSON, Activation.SOFTPLUS, 8)),
                        1)
                .get(0);
        assertTrue(poisson.getLabels(0).minNumber().doubleValue() > 0);
    }

    @Test
    void everyInputAndOutputOfAGraphGetsItsOwn() {
        MultiDataSet batch = batches(DataNetworks.graph(), 1).get(0);
        assertArrayEquals(new long[] {6, 3}, batch.getFeatures(1).shape());
        assertOneHot(batch.getLabels(0));
        assertArrayEquals(new long[] {6, 1}, batch.getLabels(1).shape());
    }

    @Test
    void numbersOfBatchesThatMakeNoSenseAreRefused() {
        AmpException e = assertThrows(AmpException.class, () -> new BatchSettings(0, 1, 1, 1, List.of()));
        assertEquals("batch 0: must be at least 1", e.getMessage());
    }
}
