package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.Agreement;
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

/** Networks that end in a LossLayer, against stock DL4J, and losses with random numbers. */
class RowLossTest {
    private static final int EXAMPLES = 6;
    private static final int FEATURES = 5;
    private static final int CLASSES = 4;

    enum Objective {
        CLASSES_OF_ROWS(LossFunction.MCXENT, Activation.SOFTMAX),
        LIKELIHOOD(LossFunction.NEGATIVELOGLIKELIHOOD, Activation.SOFTMAX),
        NUMBERS_OF_CLASSES(LossFunction.SPARSE_MCXENT, Activation.SOFTMAX),
        BINARY(LossFunction.XENT, Activation.SIGMOID),
        SQUARES(LossFunction.MSE, Activation.TANH),
        SQUARES_OF_SUMS(LossFunction.L2, Activation.IDENTITY),
        SOFT_SQUARES(LossFunction.MSE, Activation.SOFTMAX),
        DISTANCES(LossFunction.L1, Activation.HARDTANH),
        COSINES(LossFunction.COSINE_PROXIMITY, Activation.CUBE);

        private final LossFunction loss;
        private final Activation activation;

        Objective(LossFunction loss, Activation activation) {
            this.loss = loss;
            this.activation = activation;
        }

        private LossLayer layer() {
            return new LossLayer.Builder(loss).activation(activation).build();
        }

        private INDArray labels(Random random) {
            if (this == NUMBERS_OF_CLASSES) {
                return Nd4j.createFromArray(0f, 1, 2, 3, 2, 1).reshape(EXAMPLES, 1);
            }
            return this == CLASSES_OF_ROWS || this == LIKELIHOOD || this == BINARY
                    ? Networks.oneHot(EXAMPLES, CLASSES)
                    : gaussian(random, 0.5, EXAMPLES, CLASSES);
        }
    }

    enum Mask {
        NONE,
        OF_EXAMPLES,
        OF_OUTPUTS;

        private boolean suits(Objective objective) {
            boolean classes = objective.loss == LossFunction.MCXENT
                    || objective == Objective.LIKELIHOOD
                    || objective == Objective.NUMBERS_OF_CLASSES;
            return this != OF_OUTPUTS || !(classes || objective == Objective.COSINES);
        }

        private INDArray mask(Random random) {
            return switch (this) {
                case NONE -> null;
                case OF_EXAMPLES -> Nd4j.createFromArray(1f, 0, 1, 0.3f, 1, 0).reshape(EXAMPLES, 1);
                case OF_OUTPUTS -> gaussian(random, 1, EXAMPLES, CLASSES).gt(0).castTo(DataType.FLOAT);
            };
        }
    }

    private static LossNetwork network(Objective objective) {
        return new LossNetwork(
                InputType.feedForward(FEATURES), Networks.dense(CLASSES, Activation.IDENTITY), objective.layer());
    }

    private static DataSet data(Objective objective, Mask mask) {
        Random random = new Random(9);
        INDArray features = gaussian(random, 1, EXAMPLES, FEATURES);
        return new DataSet(features, objective.labels(random), null, mask.mask(random));
    }

    static Stream<Arguments> cases() {
        return Stream.of(Objective.values()).flatMap(objective -> Stream.of(Mask.values())
                .filter(mask -> mask.suits(objective))
                .map(mask -> Arguments.of(objective, mask)));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void trainsScoresAndInfersAsStockDl4jDoes(Objective objective, Mask mask) {
        LossNetwork network = network(objective).penalized(1e-3);
        for (Precision precision : Types.precisions()) {
            network.assertTrainsScoresAndInfersAsStock(data(objective, mask), precision);
            network.asGraph().assertTrainsScoresAndInfersAsStock(data(objective, mask), precision);
        }
    }

    @ParameterizedTest
    @EnumSource
    void gradientsAreDifferencesOfScores(Objective objective) {
        network(objective).assertGradientsAreDifferences(data(objective, Mask.NONE));
    }

    @Test
    void trainsWithAScaleAndSkipsSteps() {
        DataSet data = data(Objective.CLASSES_OF_ROWS, Mask.OF_EXAMPLES);
        DataSet broken = data.copy();
        broken.getFeatures().putScalar(1, Double.NaN);
        PrecisionPlan.Row row = network(Objective.CLASSES_OF_ROWS).assertTrainsWithAScaleAndSkips(data, broken);
        assertEquals(Precision.FLOAT, row.precision(), row.toString());
        assertEquals(Types.halfPrecision(), row.input(), row.toString());
    }

    @Test
    void refusesWrongLabelsAsStockDl4jDoes() {
        LossNetwork network = network(Objective.SQUARES);
        INDArray features = gaussian(new Random(9), 1, EXAMPLES, FEATURES);
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(EXAMPLES, CLASSES + 1)));
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(EXAMPLES - 1, CLASSES)));
        network.assertRefusesAsStock(new DataSet(features, Nd4j.zeros(EXAMPLES, CLASSES, 2)));
        network.assertRefusesAsStock(
                new DataSet(features, Nd4j.zeros(EXAMPLES, CLASSES), null, Nd4j.ones(EXAMPLES, CLASSES - 1)));
    }

    /** Sequences as they are: a LossLayer has no message for them, and passes them to the activation function. */
    @Test
    void activatesArraysOfOtherRanksAsStockDl4jDoes() {
        LossNetwork network = new LossNetwork(
                InputType.recurrent(FEATURES, 3),
                steps(),
                new LossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.SOFTMAX)
                        .build());
        Model stock = network.make();
        Model ours = network.make();
        INDArray features = gaussian(new Random(9), 1, EXAMPLES, FEATURES, 3);
        for (Precision precision : Types.precisions()) {
            try (MixedPrecision amp =
                    LossNetwork.enable(ours, LossNetwork.config(precision).build())) {
                Agreement.assertWithin(
                        precision + " output",
                        LossNetwork.output(stock, features),
                        LossNetwork.output(ours, features),
                        LossNetwork.tolerance(precision));
            }
        }
    }

    private static Layer steps() {
        return new LSTM.Builder().nOut(3).activation(Activation.TANH).build();
    }

    static Stream<Arguments> drawing() {
        LossFunction loss = LossFunction.MSE;
        Activation activation = Activation.RRELU;
        InputType images = InputType.convolutional(4, 3, 2);
        Layer rows = Networks.dense(CLASSES, Activation.IDENTITY);
        Layer pixels = new ConvolutionLayer.Builder(1, 1)
                .nOut(CLASSES)
                .activation(Activation.IDENTITY)
                .build();
        return Stream.of(
                Arguments.of(
                        new LossNetwork(
                                InputType.feedForward(FEATURES),
                                rows,
                                new LossLayer.Builder(loss)
                                        .activation(activation)
                                        .build()),
                        new long[] {EXAMPLES, FEATURES},
                        new long[] {EXAMPLES, CLASSES}),
                Arguments.of(
                        new LossNetwork(
                                InputType.feedForward(FEATURES),
                                Networks.dense(3, Activation.TANH),
                                new OutputLayer.Builder(loss)
                                        .nOut(CLASSES)
                                        .activation(activation)
                                        .build()),
                        new long[] {EXAMPLES, FEATURES},
                        new long[] {EXAMPLES, CLASSES}),
                Arguments.of(
                        new LossNetwork(
                                images,
                                pixels,
                                new CnnLossLayer.Builder(loss)
                                        .activation(activation)
                                        .build()),
                        new long[] {EXAMPLES, 2, 4, 3},
                        new long[] {EXAMPLES, CLASSES, 4, 3}));
    }

    /** RReLU draws its slopes for the gradient, and then others for the score, whatever becomes of workspaces. */
    @ParameterizedTest
    @MethodSource("drawing")
    void drawsTheRandomSlopesOfStockDl4j(LossNetwork network, long[] features, long[] labels) {
        DataSet data = new DataSet(gaussian(new Random(1), 1, features), gaussian(new Random(2), 1, labels));
        network.assertDrawsAsStock(data);
        network.in(WorkspaceMode.NONE).assertDrawsAsStock(data);
    }

    /** Rows are by example and then time here, and the other way round in DL4J. */
    @Test
    void leavesRandomSlopesOfTimeStepsToDl4j() {
        Stream.of(
                        new RnnLossLayer.Builder(LossFunction.MSE)
                                .activation(Activation.RRELU)
                                .build(),
                        new RnnOutputLayer.Builder(LossFunction.MSE)
                                .nOut(3)
                                .activation(Activation.RRELU)
                                .build())
                .forEach(loss -> {
                    Model network = new LossNetwork(InputType.recurrent(FEATURES, 3), steps(), loss).make();
                    try (MixedPrecision amp = LossNetwork.enable(
                            network, LossNetwork.config(Precision.FLOAT).build())) {
                        PrecisionPlan.Row row = amp.plan().rows().get(1);
                        assertTrue(row.reason().contains("RReLU"), row.toString());
                    }
                });
    }
}
