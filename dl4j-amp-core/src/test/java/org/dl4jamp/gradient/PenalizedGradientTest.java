package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.Networks;
import org.dl4jamp.OwnMeans;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.step.SmallSteps;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** (1 - a) g + a h, where h is the gradient of stock DL4J a radius uphill along g. */
public class PenalizedGradientTest {
    public static final double COEFFICIENT = 0.06;
    public static final double RADIUS = 0.2;
    private static final double A = COEFFICIENT / RADIUS;
    public static final int EXAMPLES = 6;

    private final DataSet data = SmallSteps.data(EXAMPLES);

    private static MultiLayerNetwork dense() {
        return SmallSteps.network(new Sgd(1));
    }

    /** Running statistics that move far, and means. */
    private static MultiLayerNetwork mixed() {
        return SmallSteps.network(
                new Sgd(1),
                UnaryOperator.identity(),
                new BatchNormalization.Builder().decay(0.05).build(),
                new OwnMeans(4));
    }

    private static MultiLayerNetwork withDropout() {
        return SmallSteps.network(
                new Sgd(1),
                UnaryOperator.identity(),
                new DenseLayer.Builder()
                        .nOut(8)
                        .activation(Activation.TANH)
                        .dropOut(0.5)
                        .build());
    }

    /** Makes the gradients of a batch, as the network's optimizer does before it calls the updater. */
    private static INDArray backward(Model network, DataSet data) {
        if (network instanceof MultiLayerNetwork layers) {
            layers.setInput(data.getFeatures());
            layers.setLabels(data.getLabels());
            layers.setLayerMaskArrays(data.getFeaturesMaskArray(), data.getLabelsMaskArray());
        } else {
            ComputationGraph graph = (ComputationGraph) network;
            graph.setInput(0, data.getFeatures());
            graph.setLabel(0, data.getLabels());
            if (data.getFeaturesMaskArray() != null || data.getLabelsMaskArray() != null) {
                graph.setLayerMaskArrays(
                        new INDArray[] {data.getFeaturesMaskArray()}, new INDArray[] {data.getLabelsMaskArray()});
            }
        }
        network.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        return view(network);
    }

    private static INDArray view(Model network) {
        return AmpNetwork.of(network).gradients();
    }

    private static GradientParts parts(Model network) {
        return new GradientParts(SmallSteps.updater(network).getUpdaterBlocks());
    }

    private static Optional<String> add(Model network, PenalizedGradient penalty, StepKernels kernels) {
        GradientParts parts = parts(network);
        return penalty.addTo(parts.of(view(network)), EXAMPLES, kernels);
    }

    /** What the formula makes of the gradients of stock DL4J, two for each of its passes. */
    public static float[] expected(Supplier<? extends Model> networks, DataSet data, long seed) {
        Model network = networks.get();
        GradientParts parts = parts(network);
        Nd4j.getRandom().setSeed(seed);
        INDArray g = backward(network, data).dup();
        // The direction is that of the true gradient: means of sums, and no updates.
        INDArray direction = g.dup();
        parts.of(direction).sums().forEach(sum -> sum.divi(EXAMPLES));
        parts.of(direction).updates().forEach(update -> update.assign(0));
        INDArray parameters = network.params();
        parameters.addi(
                direction.mul(RADIUS / direction.norm2Number().doubleValue()).reshape(parameters.shape()));
        Nd4j.getRandom().setSeed(seed);
        INDArray h = backward(network, data);
        INDArray result = g.mul(1 - A).addi(h.mul(A));
        List<INDArray> updates = parts.of(result).updates();
        for (int i = 0; i < updates.size(); i++) {
            updates.get(i).assign(parts.of(g).updates().get(i));
        }
        return result.ravel().toFloatVector();
    }

    private static void assertPenalized(Supplier<? extends Model> networks, DataSet data) {
        float[] expected = expected(networks, data, 5);
        Model network = networks.get();
        INDArray before = network.params().dup();
        Nd4j.getRandom().setSeed(5);
        PenalizedGradient penalty = new PenalizedGradient(COEFFICIENT, RADIUS, network);
        // Once more, over arrays that it has kept.
        for (int i = 0; i < 2; i++) {
            INDArray view = backward(network, data);
            float[] plain = view.ravel().toFloatVector();
            double score = network.score();
            assertEquals(Optional.empty(), add(network, penalty, StepKernels.nd4j()));
            float[] actual = view.ravel().toFloatVector();
            assertArrayEquals(expected, actual, 2e-4f, network.getClass().getSimpleName());
            assertTrue(
                    Nd4j.createFromArray(plain).distance2(Nd4j.createFromArray(actual)) > 0.01, "a part that is seen");
            assertEquals(before, network.params());
            assertEquals(score, network.score());
        }
    }

    @Test
    void theFormulaHoldsInEitherKindOfNetwork() {
        assertPenalized(PenalizedGradientTest::dense, data);
        assertPenalized(() -> dense().toComputationGraph(), data);
    }

    @Test
    void meansCountAsTheyAreAndUpdatesAreThoseOfTheFirstPass() {
        data.getFeatures().addi(10);
        assertPenalized(PenalizedGradientTest::mixed, data);
    }

    public static MultiLayerNetwork recurrent() {
        return Networks.init(Networks.builder(new Sgd(1))
                .list()
                .layer(new LSTM.Builder().nOut(4).build())
                .layer(Networks.rnnSoftmax(2))
                .setInputType(InputType.recurrent(3))
                .build());
    }

    @Test
    void masksHoldInBothPasses() {
        DataSet sequences = Networks.maskedSequences(EXAMPLES, 3, 2, 9);
        DataSet ofLabels = sequences.copy();
        ofLabels.setFeaturesMaskArray(null);
        DataSet ofFeatures = sequences.copy();
        ofFeatures.setLabelsMaskArray(null);
        for (DataSet masked : List.of(sequences, ofLabels)) {
            assertPenalized(PenalizedGradientTest::recurrent, masked);
            assertPenalized(() -> recurrent().toComputationGraph(), masked);
        }
        assertPenalized(() -> recurrent().toComputationGraph(), ofFeatures);
    }

    @Test
    void bothPassesDropTheSameNumbers() {
        MultiLayerNetwork network = withDropout();
        PenalizedGradient penalty = new PenalizedGradient(COEFFICIENT, RADIUS, network);
        // The first time shows that the network draws numbers. From then on both gradients are made anew.
        for (long seed : new long[] {3, 41}) {
            backward(network, data);
            Nd4j.getRandom().setSeed(seed);
            assertEquals(Optional.empty(), add(network, penalty, StepKernels.nd4j()));
        }
        assertArrayEquals(
                expected(PenalizedGradientTest::withDropout, data, 41),
                view(network).ravel().toFloatVector(),
                2e-4f);
    }

    @Test
    void updatesOfAPassThatIsRepeatedStayThoseOfTheFirst() {
        MultiLayerNetwork network = SmallSteps.network(
                new Sgd(1),
                conf -> conf,
                new DenseLayer.Builder()
                        .nOut(2)
                        .activation(Activation.TANH)
                        .dropOut(0.5)
                        .build(),
                new BatchNormalization());
        PenalizedGradient penalty = new PenalizedGradient(COEFFICIENT, RADIUS, network);
        for (int i = 0; i < 2; i++) {
            Nd4j.getRandom().setSeed(9);
            INDArray view = backward(network, data);
            GradientParts.Parted parted = parts(network).of(view);
            float[] first = parted.updates().get(0).dup().toFloatVector();
            assertEquals(Optional.empty(), add(network, penalty, StepKernels.nd4j()));
            assertArrayEquals(first, parted.updates().get(0).toFloatVector());
        }
    }

    @Test
    void zeroGradientsStayZero() {
        MultiLayerNetwork network = dense();
        INDArray before = network.params().dup();
        INDArray view = backward(network, data);
        float[] here = view.ravel().toFloatVector();
        view.assign(0);
        PenalizedGradient penalty = new PenalizedGradient(COEFFICIENT, RADIUS, network);
        assertEquals(Optional.empty(), add(network, penalty, StepKernels.nd4j()));
        // g is zero, so h is the gradient where the weights are.
        float[] expected = Nd4j.createFromArray(here).muli(A).toFloatVector();
        assertArrayEquals(expected, view.ravel().toFloatVector(), 1e-5f);
        assertEquals(before, network.params());
    }

    /** Finds infinities in one of its looks at all gradients. */
    private record NotFinite(int look, List<INDArray> looks) implements StepKernels {
        @Override
        public boolean allFinite(INDArray gradients) {
            looks.add(gradients);
            return looks.size() != look;
        }

        @Override
        public double norm2(List<INDArray> gradients) {
            throw new UnsupportedOperationException();
        }
    }

    @Test
    void itSaysWhichPassWasNotFinite() {
        String second = "loss or gradients of the gradient penalty's second pass";
        String repeated = "loss or gradients of the pass that is repeated for the gradient penalty";
        MultiLayerNetwork plain = dense();
        backward(plain, data);
        assertEquals(
                Optional.of(second),
                add(plain, new PenalizedGradient(COEFFICIENT, RADIUS, plain), new NotFinite(1, new ArrayList<>())));
        MultiLayerNetwork dropout = withDropout();
        backward(dropout, data);
        PenalizedGradient penalty = new PenalizedGradient(COEFFICIENT, RADIUS, dropout);
        // The first look is at the pass that shows that numbers are drawn.
        assertEquals(Optional.of(repeated), add(dropout, penalty, new NotFinite(2, new ArrayList<>())));
        backward(dropout, data);
        assertEquals(Optional.of(repeated), add(dropout, penalty, new NotFinite(1, new ArrayList<>())));
        backward(dropout, data);
        assertEquals(Optional.of(second), add(dropout, penalty, new NotFinite(2, new ArrayList<>())));
    }

    @Test
    void anInfiniteLossOfTheSecondPassIsNotLearnedFrom() {
        MultiLayerNetwork network = dense();
        INDArray before = network.params().dup();
        backward(network, data);
        INDArray labels = data.getLabels();
        labels.putScalar(0, Float.NaN);
        StepKernels blind = new NotFinite(0, new ArrayList<>());
        PenalizedGradient penalty = new PenalizedGradient(COEFFICIENT, RADIUS, network);
        assertTrue(add(network, penalty, blind).orElseThrow().contains("second pass"));
        assertEquals(before, network.params());
        MultiLayerNetwork dropout = withDropout();
        labels.putScalar(0, 1);
        backward(dropout, data);
        PenalizedGradient drawing = new PenalizedGradient(COEFFICIENT, RADIUS, dropout);
        assertEquals(Optional.empty(), add(dropout, drawing, blind));
        labels.putScalar(0, Float.NaN);
        assertTrue(add(dropout, drawing, blind).orElseThrow().contains("repeated"));
    }

    @Test
    void listenersHearNothingOfTheSecondPass() {
        MultiLayerNetwork network = dense();
        backward(network, data);
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onBackwardPass(Model model) {
                throw new AssertionError();
            }
        });
        assertEquals(
                Optional.empty(),
                add(network, new PenalizedGradient(COEFFICIENT, RADIUS, network), StepKernels.nd4j()));
    }

    @Test
    void truncatedBackpropagationIsRefused() {
        MultiLayerNetwork truncated = Networks.init(Networks.truncatedLstm());
        AmpException e = assertThrows(AmpException.class, () -> new PenalizedGradient(0.1, 0.1, truncated));
        assertTrue(e.getMessage().startsWith("gradientPenalty: "), e::getMessage);
    }
}
