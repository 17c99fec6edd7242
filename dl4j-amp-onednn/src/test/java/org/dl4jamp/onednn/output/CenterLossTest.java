package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks whose loss has a part for the centers of classes, against stock DL4J. */
class CenterLossTest {
    private static final int EXAMPLES = 6;
    private static final int FEATURES = 5;
    private static final int CLASSES = 4;

    enum Objective {
        CLASSES_OF_ROWS(LossFunction.MCXENT, Activation.SOFTMAX),
        SQUARES(LossFunction.MSE, Activation.TANH),
        BINARY(LossFunction.XENT, Activation.SIGMOID);

        private final LossFunction loss;
        private final Activation activation;

        Objective(LossFunction loss, Activation activation) {
            this.loss = loss;
            this.activation = activation;
        }

        private CenterLossOutputLayer.Builder layer() {
            return new CenterLossOutputLayer.Builder(loss)
                    .alpha(0.3)
                    .lambda(0.2)
                    .nOut(CLASSES)
                    .activation(activation);
        }
    }

    /** The labels of examples. */
    enum Labels {
        ONE_HOT,
        WHOLE_NUMBERS,
        SMOOTHED;

        private INDArray labels() {
            INDArray labels = Networks.oneHot(EXAMPLES, CLASSES);
            return switch (this) {
                case ONE_HOT -> labels;
                case WHOLE_NUMBERS -> labels.castTo(DataType.INT);
                case SMOOTHED -> labels.mul(0.8).addi(0.05);
            };
        }
    }

    private static LossNetwork network(CenterLossOutputLayer loss) {
        return new LossNetwork(InputType.feedForward(FEATURES), Networks.dense(3, Activation.TANH), loss);
    }

    private static DataSet data(Labels labels, boolean masked) {
        INDArray features = gaussian(new Random(9), 1, EXAMPLES, FEATURES);
        INDArray mask = Nd4j.createFromArray(1f, 0, 1, 0.3f, 1, 0).reshape(EXAMPLES, 1);
        return new DataSet(features, labels.labels(), null, masked ? mask : null);
    }

    static Stream<Arguments> cases() {
        return Stream.of(Objective.values())
                .flatMap(objective -> Stream.of(Labels.values()).map(labels -> Arguments.of(objective, labels)));
    }

    /** The parameters have the centers among them. */
    @ParameterizedTest
    @MethodSource("cases")
    void trainsScoresAndInfersAsStockDl4jDoes(Objective objective, Labels labels) {
        LossNetwork network = network(objective.layer().build()).penalized(1e-3);
        for (Precision precision : Types.precisions()) {
            for (boolean masked : new boolean[] {false, true}) {
                network.assertTrainsScoresAndInfersAsStock(data(labels, masked), precision);
                network.asGraph().assertTrainsScoresAndInfersAsStock(data(labels, masked), precision);
            }
        }
    }

    @Test
    void productsAreOfThePlansPrecision() {
        Precision precision = Types.halfPrecision();
        Model network = network(Objective.CLASSES_OF_ROWS.layer().build()).make();
        try (MixedPrecision amp =
                LossNetwork.enable(network, LossNetwork.config(precision).build())) {
            PrecisionPlan.Row row = LossNetwork.assertComputes(amp);
            assertEquals(precision, row.precision(), row.toString());
        }
    }

    @ParameterizedTest
    @EnumSource
    void gradientsAreDifferencesOfScores(Objective objective) {
        CenterLossOutputLayer loss =
                objective.layer().alpha(1).gradientCheck(true).build();
        network(loss).assertGradientsAreDifferences(data(Labels.ONE_HOT, false));
        network(loss).assertGradientsAreDifferences(data(Labels.SMOOTHED, false));
    }

    @Test
    void trainsWithAScaleAndSkipsSteps() {
        DataSet data = data(Labels.ONE_HOT, true);
        DataSet broken = data.copy();
        broken.getFeatures().putScalar(1, Double.NaN);
        network(Objective.CLASSES_OF_ROWS.layer().build()).assertTrainsWithAScaleAndSkips(data, broken);
    }

    /** Noise for the gradient, and then other noise for the score; RReLU's slopes, too. */
    @Test
    void drawsTheRandomNumbersOfStockDl4j() {
        for (WorkspaceMode workspaces : List.of(WorkspaceMode.ENABLED, WorkspaceMode.NONE)) {
            network(Objective.CLASSES_OF_ROWS
                            .layer()
                            .weightNoise(new DropConnect(0.7))
                            .build())
                    .in(workspaces)
                    .assertDrawsAsStock(data(Labels.ONE_HOT, false));
            network(Objective.SQUARES.layer().activation(Activation.RRELU).build())
                    .in(workspaces)
                    .assertDrawsAsStock(data(Labels.ONE_HOT, false));
        }
    }

    @Test
    void refusesWrongArraysAsStockDl4jDoes() {
        INDArray features = data(Labels.ONE_HOT, false).getFeatures();
        LossNetwork network = network(Objective.SQUARES.layer().build());
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(EXAMPLES, CLASSES + 1)));
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(EXAMPLES - 1, CLASSES)));
        network.assertRefusesAsStock(
                new DataSet(features, Nd4j.zeros(EXAMPLES, CLASSES), null, Nd4j.ones(EXAMPLES, CLASSES - 1)));
    }

    @Test
    void leavesDropoutAndAMissingBiasToDl4j() {
        for (CenterLossOutputLayer.Builder loss : List.of(
                Objective.SQUARES.layer().dropOut(0.5),
                Objective.SQUARES.layer().hasBias(false))) {
            Model network = network(loss.build()).make();
            try (MixedPrecision amp = LossNetwork.enable(
                    network, LossNetwork.config(Precision.FLOAT).build())) {
                PrecisionPlan.Row row = amp.plan().rows().get(1);
                assertTrue(row.reason().contains("CenterLossOutputLayer"), row.toString());
            }
        }
    }
}
