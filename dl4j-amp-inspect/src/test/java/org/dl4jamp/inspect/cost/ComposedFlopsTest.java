package org.dl4jamp.inspect.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.junit.jupiter.api.Test;

/** The operations of attention, capsules and other rare layers are those that are counted by hand. */
class ComposedFlopsTest {
    private static final InputType IMAGE = InputType.convolutional(6, 5, 3);
    private static final InputType SEQUENCE = InputType.recurrent(3, 7);
    private static final InputType CAPSULES = InputType.recurrent(6, 4);

    private static long flops(Layer layer, InputType type) {
        Layer complete = new NeuralNetConfiguration.Builder()
                .list()
                .layer(layer)
                .validateOutputLayerConfig(false)
                .setInputType(type)
                .build()
                .getConf(0)
                .getLayer();
        Shape in = new Shape(type);
        return LayerFlops.of(complete, in, Shapes.behind(complete, in)).orElseThrow();
    }

    @Test
    void selfAttentionProjectsComparesAndSums() {
        Layer layer = new SelfAttentionLayer.Builder()
                .nIn(3)
                .nOut(5)
                .nHeads(2)
                .headSize(4)
                .projectInput(true)
                .build();
        // Queries, keys and values; in each of 2 heads scores, their scaling and sums; the output's projection.
        assertEquals(3 * 336 + 2 * (392 + 49 + 392) + 560, flops(layer, SEQUENCE));
    }

    @Test
    void withoutProjectionTheInputItselfIsCompared() {
        Layer layer = new SelfAttentionLayer.Builder()
                .nIn(3)
                .nOut(3)
                .nHeads(1)
                .projectInput(false)
                .build();
        assertEquals(7 * 7 * (6 + 1 + 6), flops(layer, SEQUENCE));
    }

    @Test
    void learnedQueriesAreProjectedToo() {
        Layer layer = new LearnedSelfAttentionLayer.Builder()
                .nIn(3)
                .nOut(5)
                .nHeads(2)
                .headSize(4)
                .nQueries(2)
                .projectInput(true)
                .build();
        assertEquals(96 + 2 * 336 + 2 * (112 + 14 + 112) + 160, flops(layer, SEQUENCE));
    }

    @Test
    void recurrentAttentionLooksAtTheWholeInputInEachStepButTheFirst() {
        Layer layer = new RecurrentAttentionLayer.Builder()
                .nIn(3)
                .nOut(5)
                .nHeads(2)
                .headSize(4)
                .projectInput(true)
                .build();
        int attention = 80 + 2 * 336 + 2 * (56 + 7 + 56) + 80;
        assertEquals(7 * 5 * (6 + 1) + 6 * (attention + 5 * (10 + 1)), flops(layer, SEQUENCE));
    }

    @Test
    void anAttentionVertexHasInputsOfSeveralSizes() {
        AttentionVertex vertex = new AttentionVertex.Builder()
                .nInQueries(3)
                .nInKeys(4)
                .nInValues(2)
                .nOut(6)
                .nHeads(2)
                .headSize(4)
                .projectInput(true)
                .build();
        List<Shape> inputs = List.of(
                new Shape(SEQUENCE), new Shape(InputType.recurrent(4, 5)), new Shape(InputType.recurrent(2, 5)));
        assertEquals(336 + 320 + 160 + 2 * (280 + 35 + 280) + 672, ComposedFlops.of(vertex, inputs));
    }

    @Test
    void capsulesAreConvolutionsThatAreSquashed() {
        Layer layer =
                new PrimaryCapsules.Builder(4, 2).kernelSize(3, 3).stride(1, 1).build();
        // 4x3 positions of 2 channels of 4 values.
        assertEquals(96 * (2 * 3 * 3 * 3 + 1) + 96 * 3, flops(layer, IMAGE));
    }

    @Test
    void routingRepeatsSumsAndAgreement() {
        Layer layer = new CapsuleLayer.Builder(3, 2, 3).build();
        int predictions = 6 * 3 * 2;
        int sums = 2 * predictions + 3 * 3 * 2;
        int agreement = 2 * predictions + 6 * 3;
        assertEquals(predictions * 2 * 4 + 3 * sums + 2 * agreement, flops(layer, CAPSULES));
    }

    @Test
    void strengthsAreSumsOfSquares() {
        assertEquals(2 * 6 * 4, flops(new CapsuleStrengthLayer.Builder().build(), CAPSULES));
    }

    @Test
    void localResponseNormalizationSumsOverNeighbours() {
        Layer layer = new LocalResponseNormalization.Builder().n(5).build();
        assertEquals(6 * 5 * 3 * (1 + 5 + 1 + 1 + 1), flops(layer, IMAGE));
    }

    @Test
    void anAutoencodersOutputIsThatOfItsEncoder() {
        Layer layer = new VariationalAutoencoder.Builder()
                .nIn(3)
                .encoderLayerSizes(4, 5)
                .decoderLayerSizes(6)
                .nOut(2)
                .build();
        assertEquals(4 * (2 * 3 + 1) + 5 * (2 * 4 + 1) + 2 * (2 * 5 + 1), flops(layer, InputType.feedForward(3)));
    }

    @Test
    void thePNormSumsPowers() {
        Layer layer = new GlobalPoolingLayer.Builder(PoolingType.PNORM).pnorm(3).build();
        assertEquals(2 * 6 * 5 * 3, flops(layer, IMAGE));
    }

    @Test
    void aOneClassOutputHasAHiddenLayer() {
        Layer layer = new OCNNOutputLayer.Builder().nIn(3).hiddenLayerSize(4).build();
        assertEquals(4 * 2 * 3 + 2 * 4, flops(layer, InputType.feedForward(3)));
    }
}
