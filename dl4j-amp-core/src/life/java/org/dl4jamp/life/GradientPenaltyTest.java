package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * A penalty on the norm of the gradient, compared with Hessians computed by hand and with gradients in double
 * precision.
 */
class GradientPenaltyTest {
    private static final double RATE = 0.1;

    private static AmpConfig config(Side side, GradientPenalty penalty) {
        return AmpConfig.builder()
                .precision(side.precision())
                .engine(side.engine())
                .gradientPenalty(penalty)
                .build();
    }

    private static MixedPrecision enable(Model network, Side side, GradientPenalty penalty) {
        return network instanceof MultiLayerNetwork layers
                ? MixedPrecision.enable(layers, config(side, penalty))
                : MixedPrecision.enable((ComputationGraph) network, config(side, penalty));
    }

    private static Model of(Kind kind, MultiLayerConfiguration configuration) {
        MultiLayerNetwork network = Networks.init(configuration);
        return kind == Kind.GRAPH ? network.toComputationGraph() : network;
    }

    private static Stream<Arguments> everywhere() {
        return Kind.everywhere();
    }

    /** Returns what plain gradient descent has subtracted, as a gradient. */
    private static INDArray gradientOfStep(Model network, DataSet data) {
        INDArray before = network.params().castTo(DataType.DOUBLE);
        Kind.fit(network, data);
        return before.sub(network.params().castTo(DataType.DOUBLE)).div(RATE);
    }

    // --- the analytic case

    private static MultiLayerConfiguration linearRegression() {
        return Networks.builder(new Sgd(RATE))
                .list()
                .layer(Networks.regression(1))
                .setInputType(InputType.feedForward(4))
                .build();
    }

    /** The mean of squared errors has the Hessian 2 XᵀX / n, with a column of ones for the bias. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void onLinearRegressionTheStepIsTheAnalyticOneAtAnyRadius(Kind kind, Side side) {
        for (double radius : new double[] {0.05, 1, 30}) {
            Model network = of(kind, linearRegression());
            Nd4j.getRandom().setSeed(3);
            INDArray features = Nd4j.randn(DataType.FLOAT, 10, 4);
            INDArray labels = Nd4j.randn(DataType.FLOAT, 10, 1);
            INDArray x = Nd4j.hstack(features.castTo(DataType.DOUBLE), Nd4j.ones(DataType.DOUBLE, 10, 1));
            INDArray hessian = x.transpose().mmul(x).mul(2.0 / 10);
            INDArray w = network.params().castTo(DataType.DOUBLE).reshape(5, 1);
            INDArray gradient = x.transpose()
                    .mmul(x.mmul(w).sub(labels.castTo(DataType.DOUBLE)))
                    .mul(2.0 / 10);
            INDArray expected =
                    hessian.mmul(gradient).div(gradient.norm2Number()).mul(0.3).add(gradient);
            MixedPrecision amp = enable(network, side, GradientPenalty.of(0.3, radius));
            INDArray actual = gradientOfStep(network, new DataSet(features, labels));
            assertEquals(1, amp.stepsTaken());
            double error = actual.reshape(5, 1).sub(expected).norm2Number().doubleValue();
            assertEquals(0, error, 1e-4 * expected.norm2Number().doubleValue(), "radius " + radius);
        }
    }

    // --- double precision

    private static NeuralNetConfiguration.Builder descent() {
        return Networks.builder(new Sgd(RATE));
    }

    /** The same network of either kind. */
    private static Model mlp(Kind kind, NeuralNetConfiguration.Builder builder) {
        return kind == Kind.MULTI_LAYER
                ? Networks.init(mlp(builder))
                : Networks.init(builder.graphBuilder()
                        .addInputs("in")
                        .setInputTypes(InputType.feedForward(20))
                        .addLayer("0", Networks.dense(24, Activation.TANH), "in")
                        .addLayer("1", Networks.dense(16, Activation.TANH), "0")
                        .addLayer("2", Networks.softmax(3), "1")
                        .setOutputs("2")
                        .build());
    }

    private static MultiLayerConfiguration mlp(NeuralNetConfiguration.Builder builder) {
        return builder.list()
                .layer(Networks.dense(24, Activation.TANH))
                .layer(Networks.dense(16, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build();
    }

    /** The gradient of the loss's mean, computed by stock DL4J. */
    private static INDArray stockGradient(MultiLayerNetwork network, DataSet data, INDArray parameters) {
        network.setParams(parameters);
        network.setInput(data.getFeatures().castTo(parameters.dataType()));
        network.setLabels(data.getLabels().castTo(parameters.dataType()));
        network.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        return network.gradient().gradient().div(data.numExamples());
    }

    private static INDArray hessianTimesDirection(MultiLayerNetwork stock, DataSet data, INDArray w, INDArray g) {
        INDArray direction = g.div(g.norm2Number());
        double step = 1e-5;
        return stockGradient(stock, data, w.add(direction.mul(step)))
                .sub(stockGradient(stock, data, w.sub(direction.mul(step))))
                .div(2 * step);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void aStepIsThatOfTheHessianInDoublePrecision(Kind kind, Side side) {
        DataSet data = Kind.data();
        Model network = mlp(kind, descent());
        MultiLayerNetwork stock = Networks.init(mlp(descent().dataType(DataType.DOUBLE)));
        INDArray w = network.params().castTo(DataType.DOUBLE);
        INDArray g = stockGradient(stock, data, w.dup());
        INDArray penalty = hessianTimesDirection(stock, data, w, g).mul(0.2);
        assertTrue(
                penalty.norm2Number().doubleValue() > 0.2 * g.norm2Number().doubleValue(),
                "the penalty is a part of the gradient that is seen");
        boolean exact = side.precision() == Precision.FLOAT;
        // Where weights aren't rounded a short way is closer to the Hessian at its beginning.
        MixedPrecision amp = enable(network, side, GradientPenalty.of(0.2, exact ? 0.005 : 0.05));
        INDArray actual = gradientOfStep(network, data);
        assertEquals(1, amp.stepsTaken());
        INDArray expected = g.add(penalty).reshape(actual.shape());
        double error = actual.sub(expected).norm2Number().doubleValue();
        // Of eight digits, and of the weights that move by one of them, little is lost in 1,200 parameters.
        double bound = exact ? 0.02 : side.precision() == Precision.HALF ? 0.1 : 0.35;
        assertEquals(0, error / penalty.norm2Number().doubleValue(), bound, "the error beside the penalty");
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void gradientsAreThoseOfTheSumWithoutDivisionByTheMinibatch(Kind kind, Side side) {
        DataSet data = Kind.data();
        Model mean = mlp(kind, descent());
        Model sum = mlp(kind, descent().miniBatch(false));
        enable(mean, side, GradientPenalty.of(0.2, 0.05));
        enable(sum, side, GradientPenalty.of(0.2, 0.05));
        INDArray ofMean = gradientOfStep(mean, data);
        INDArray ofSum = gradientOfStep(sum, data);
        side.assertClose(ofMean.mul(data.numExamples()), ofSum, "gradient of the sum");
    }

    // --- random numbers, running statistics, masks, workspaces, listeners

    private static MultiLayerConfiguration withDropout() {
        return descent()
                .list()
                .layer(new DenseLayer.Builder()
                        .nOut(24)
                        .activation(Activation.TANH)
                        .dropOut(0.6)
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(16)
                        .activation(Activation.TANH)
                        .dropOut(0.7)
                        .build())
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build();
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void bothPassesDropTheSame(Kind kind, Side side) {
        DataSet data = Kind.data();
        GradientPenalty penalty = GradientPenalty.of(0.2, 0.05);
        Model network = of(kind, withDropout());
        MultiLayerNetwork stock = Networks.init(withDropout());
        enable(network, side, penalty);
        Kind.fit(network, data);
        INDArray w = network.params().dup();

        Nd4j.getRandom().setSeed(41);
        stockGradient(stock, data, w.dup());
        long root = Nd4j.getRandom().rootState();
        long node = Nd4j.getRandom().nodeState();
        INDArray g = stockGradient(stock, data, w.dup());
        Nd4j.getRandom().setStates(root, node);
        INDArray uphill =
                stockGradient(stock, data, w.add(g.div(g.norm2Number()).mul(penalty.radius())));
        INDArray expected = uphill.sub(g).mul(4).add(g);

        Nd4j.getRandom().setSeed(41);
        INDArray actual = gradientOfStep(network, data);
        double error = expected.castTo(DataType.DOUBLE)
                .reshape(actual.shape())
                .sub(actual)
                .norm2Number()
                .doubleValue();
        double bound = side.precision() == Precision.FLOAT ? 0.01 : 0.1;
        assertEquals(0, error, bound * expected.norm2Number().doubleValue());
    }

    private static INDArray runningStatistics(MultiLayerNetwork network) {
        Map<String, INDArray> parameters = network.paramTable();
        return Nd4j.hstack(
                parameters.get("1_mean").reshape(1, -1),
                parameters.get("1_log10stdev").reshape(1, -1));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Side#here")
    void runningStatisticsMoveOnceAndWithTheFirstPass(Side side) {
        DataSet images = Networks.images(12, 3, 12, 3);
        MultiLayerNetwork without = Networks.init(Networks.cnn());
        MultiLayerNetwork with = Networks.init(Networks.cnn());
        INDArray before = runningStatistics(with).dup();
        side.enable(without);
        enable(with, side, GradientPenalty.of(0.1, 0.05));
        without.fit(images);
        with.fit(images);
        assertFalse(before.equals(runningStatistics(with)));
        assertEquals(runningStatistics(without), runningStatistics(with));
        assertFalse(without.params().equals(with.params()));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Side#here")
    void aGraphSeesMasksInBothPassesLikeAMultiLayerNetwork(Side side) {
        MultiLayerConfiguration lstm = descent()
                .list()
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(5))
                .build();
        DataSet data = Networks.maskedSequences(6, 5, 3, 7);
        MultiLayerNetwork layers = Networks.init(lstm);
        ComputationGraph graph = Networks.init(lstm).toComputationGraph();
        Model plain = Networks.init(lstm);
        INDArray before = layers.params().dup();
        enable(layers, side, GradientPenalty.of(0.5, 0.05));
        enable(graph, side, GradientPenalty.of(0.5, 0.05));
        side.enable(plain);
        for (Model network : List.of(layers, graph, plain)) {
            Kind.fit(network, data);
        }
        side.assertLearnedAlike(before, layers, graph);
        double penalty = layers.params().sub(plain.params()).norm2Number().doubleValue();
        assertTrue(
                penalty > 0.1 * plain.params().sub(before).norm2Number().doubleValue(),
                "the penalty is a part of the step that is seen");
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void workspacesChangeNothing(Kind kind, Side side) {
        Model with = mlp(kind, descent().trainingWorkspaceMode(WorkspaceMode.ENABLED));
        Model without = mlp(kind, descent().trainingWorkspaceMode(WorkspaceMode.NONE));
        for (Model network : List.of(with, without)) {
            enable(network, side, GradientPenalty.of(0.1, 0.05));
            for (int i = 0; i < 3; i++) {
                Kind.fit(network, Kind.data());
            }
        }
        side.assertClose(with.params(), without.params(), "parameters");
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void listenersSeeOnePassAndTheLossItself(Kind kind, Side side) {
        Model network = mlp(kind, descent());
        Model plain = mlp(kind, descent());
        enable(network, side, GradientPenalty.of(0.5, 0.5));
        side.enable(plain);
        List<String> calls = new ArrayList<>();
        List<Double> scores = new ArrayList<>();
        BaseTrainingListener listener = new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model model, Map<String, INDArray> activations) {
                calls.add("forward");
            }

            @Override
            public void onForwardPass(Model model, List<INDArray> activations) {
                calls.add("forward");
            }

            @Override
            public void onBackwardPass(Model model) {
                calls.add("backward");
            }

            @Override
            public void onGradientCalculation(Model model) {
                calls.add("gradients");
            }

            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                calls.add("done");
                scores.add(model.score());
            }
        };
        network.setListeners(listener);
        Kind.fit(network, Kind.data());
        Kind.fit(plain, Kind.data());
        assertEquals(List.of("forward", "backward", "gradients", "done"), calls);
        assertEquals(List.of(plain.score()), scores);
        Kind.fit(network, Kind.data());
        assertEquals(8, calls.size());
    }

    // --- what isn't finite

    @ParameterizedTest
    @MethodSource("everywhere")
    void overflowInTheSecondPassSkipsTheStepAndLeavesEverythingAsItWas(Kind kind, Side side) {
        Model network = of(kind, linearRegression());
        MixedPrecision amp = enable(network, side, GradientPenalty.of(0.1, 1e25));
        INDArray before = network.params().dup();
        double scale = amp.lossScale();
        Nd4j.getRandom().setSeed(3);
        Kind.fit(network, new DataSet(Nd4j.randn(DataType.FLOAT, 10, 4), Nd4j.randn(DataType.FLOAT, 10, 1)));
        assertEquals(1, amp.stepsSkipped());
        assertEquals(0, amp.stepsTaken());
        assertEquals(scale, amp.lossScale());
        assertBitIdentical(before, network.params());
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void overflowInTheFirstPassSkipsTheStepAndTheNextOneCounts(Kind kind, Side side) {
        Model network = kind.network();
        MixedPrecision amp = enable(network, side, GradientPenalty.of(0.1, 0.05));
        Kind.fit(network, Kind.data());
        INDArray before = network.params().dup();
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                model.gradient().gradient().putScalar(5, Float.POSITIVE_INFINITY);
            }
        });
        Kind.fit(network, Kind.data());
        assertEquals(1, amp.stepsSkipped());
        assertBitIdentical(before, network.params());
        network.setListeners();
        Kind.fit(network, Kind.data());
        assertEquals(2, amp.stepsTaken());
        assertFalse(before.equals(network.params()));
    }

    private static void assertBitIdentical(INDArray expected, INDArray actual) {
        assertEquals(expected.length(), actual.length());
        for (long i = 0; i < expected.length(); i++) {
            assertEquals(
                    Float.floatToRawIntBits(expected.getFloat(i)), Float.floatToRawIntBits(actual.getFloat(i)), "" + i);
        }
    }

    // --- settings

    @ParameterizedTest
    @ValueSource(doubles = {0, -0.1, Double.NaN, Double.POSITIVE_INFINITY, 1e300})
    void numbersThatAreNotPositiveAndFiniteAreRefusedByName(double value) {
        String radius = assertThrows(AmpException.class, () -> GradientPenalty.of(0.1, value))
                .getMessage();
        assertTrue(radius.contains("radius is " + value), radius);
        String coefficient = assertThrows(AmpException.class, () -> GradientPenalty.of(value, 0.1))
                .getMessage();
        assertTrue(coefficient.contains("coefficient is " + value), coefficient);
    }

    @Test
    void truncatedBackpropagationThroughTimeIsRefusedAndTheNetworkStaysPlain() {
        ComputationGraph graph = Networks.init(descent()
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.recurrent(5))
                .addLayer("lstm", new LSTM.Builder().nOut(8).build(), "in")
                .addLayer("out", Networks.rnnSoftmax(3), "lstm")
                .setOutputs("out")
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTForwardLength(4)
                .tBPTTBackwardLength(4)
                .build());
        for (Model network : List.of(Networks.init(Networks.truncatedLstm()), graph)) {
            Side side = Side.here().findFirst().orElseThrow();
            String message = assertThrows(
                            AmpException.class, () -> enable(network, side, GradientPenalty.of(0.1, 0.05)))
                    .getMessage();
            assertTrue(message.contains("gradientPenalty") && message.contains("BackpropType.Standard"), message);
            assertFalse(Side.isEnabled(network));
        }
    }

    @Test
    void thePenaltyTravelsInTheConfiguration() {
        AmpConfig config = AmpConfig.builder()
                .gradientPenalty(GradientPenalty.of(0.125, 0.05))
                .build();
        assertTrue(config.toString().contains(".gradientPenalty(GradientPenalty.of(0.125, 0.05))"), config.toString());
        String json = MixedPrecision.configure(mlp(descent()), config).toJson();
        MultiLayerNetwork carried = MixedPrecision.network(MultiLayerConfiguration.fromJson(json));
        assertEquals(
                GradientPenalty.of(0.125, 0.05),
                MixedPrecision.of(carried)
                        .orElseThrow()
                        .config()
                        .gradientPenalty()
                        .orElseThrow());
    }
}
