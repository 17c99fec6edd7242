package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.OwnMeans;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.step.SmallSteps;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.Sgd;

/** The places of sums, means and updates among a network's gradients. */
class GradientPartsTest {
    private static MultiLayerNetwork network(org.deeplearning4j.nn.conf.layers.Layer... layers) {
        var list = Networks.builder(new Sgd(1)).list();
        Stream.of(layers).forEach(list::layer);
        return Networks.init(list.setInputType(InputType.feedForward(3)).build());
    }

    private static CenterLossOutputLayer centers() {
        return new CenterLossOutputLayer.Builder()
                .name("out")
                .nOut(2)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static GradientParts parts(MultiLayerNetwork network) {
        return new GradientParts(SmallSteps.updater(network).getUpdaterBlocks());
    }

    /** The first and the last number of each view of an array of 0, 1, 2, ... */
    private static List<String> bounds(List<INDArray> views) {
        return views.stream()
                .map(view -> view.getInt(0) + " to " + view.getInt((int) view.length() - 1))
                .toList();
    }

    @Test
    void eachPartIsAViewOfItsNumbers() {
        // W 6, b 2; gamma, beta, mean, log10stdev 2 each; W 4, b 2, centers 4.
        MultiLayerNetwork network = network(new OwnMeans(2), new BatchNormalization(), centers());
        INDArray all = Nd4j.arange(26).castTo(DataType.FLOAT).reshape(1, 26);
        GradientParts.Parted parted = parts(network).of(all);
        assertEquals(all, parted.all());
        assertEquals(List.of("0 to 5"), bounds(parted.means()));
        assertEquals(List.of("6 to 11", "16 to 21"), bounds(parted.sums()));
        assertEquals(List.of("12 to 15", "22 to 25"), bounds(parted.updates()));
        parted.clearGradients();
        float[] expected = new float[26];
        for (int i : new int[] {12, 13, 14, 15, 22, 23, 24, 25}) {
            expected[i] = i;
        }
        assertArrayEquals(expected, all.toFloatVector(), "updates stay");
    }

    /** Center loss gives its bias the updater of its weights, whatever is set for biases. */
    @Test
    void gradientsThatAreSubtractedAsTheyAreAreSumsTheBiasOfCenterLossToo() {
        CenterLossOutputLayer centers = centers();
        centers.setIUpdater(new NoOp());
        centers.setBiasUpdater(new Sgd(1));
        INDArray all = Nd4j.arange(14).castTo(DataType.FLOAT).reshape(1, 14);
        GradientParts.Parted parted = parts(network(centers)).of(all);
        assertEquals(List.of("0 to 7"), bounds(parted.sums()));
        assertEquals(List.of("8 to 13"), bounds(parted.updates()));
    }

    @Test
    void theNormIsThatOfSumsThatAreDividedAndMeansThatAreNot() {
        INDArray sums = Nd4j.createFromArray(18f, 24);
        INDArray means = Nd4j.createFromArray(4f);
        List<INDArray> updates = List.of(Nd4j.createFromArray(1000f));
        StepKernels kernels = StepKernels.nd4j();
        assertEquals(
                3, new GradientParts.Parted(null, sums, List.of(sums), List.of(), updates).norm(kernels, 10), 1e-6);
        assertEquals(
                5,
                new GradientParts.Parted(null, sums, List.of(sums), List.of(means), updates).norm(kernels, 10),
                1e-6);
    }

    private static String refusal(MultiLayerNetwork network) {
        return assertThrows(AmpException.class, () -> parts(network).requireAddable(4))
                .getMessage();
    }

    @Test
    void meansAndUpdatesOfABatchCantBeAddedUp() {
        OwnMeans means = new OwnMeans(2);
        means.setLayerName("mine");
        String ofMeans = refusal(network(means, centers()));
        assertTrue(ofMeans.startsWith("accumulate(4): parameter \"W\" of layer \"mine\" has an updater, and"), ofMeans);
        String ofCenters = refusal(network(centers()));
        assertTrue(
                ofCenters.startsWith(
                        "accumulate(4): parameter \"cL\" of layer \"out\" has no gradient but an update of each batch"),
                ofCenters);
        parts(SmallSteps.normalized(new Sgd(1))).requireAddable(4);
    }
}
