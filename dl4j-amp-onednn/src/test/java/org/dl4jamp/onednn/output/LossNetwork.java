package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * A layer and a loss, as MultiLayerNetwork or ComputationGraph, on this engine and in stock DL4J.
 *
 * @param penalty the coefficients of L1 and L2 terms
 */
record LossNetwork(InputType input, Layer hidden, Layer loss, boolean graph, double penalty, WorkspaceMode workspaces) {
    private static final double FLOAT_ERROR = 1e-5;
    private static final double HALF_ERROR = 0.03;
    private static final double STEP = 1e-5;

    LossNetwork(InputType input, Layer hidden, Layer loss) {
        this(input, hidden, loss, false, 0, WorkspaceMode.ENABLED);
    }

    LossNetwork asGraph() {
        return new LossNetwork(input, hidden, loss, true, penalty, workspaces);
    }

    LossNetwork penalized(double coefficient) {
        return new LossNetwork(input, hidden, loss, graph, coefficient, workspaces);
    }

    LossNetwork in(WorkspaceMode mode) {
        return new LossNetwork(input, hidden, loss, graph, penalty, mode);
    }

    static double tolerance(Precision precision) {
        return precision == Precision.FLOAT ? FLOAT_ERROR : HALF_ERROR;
    }

    Model make() {
        return make(DataType.FLOAT);
    }

    private Model make(DataType type) {
        NeuralNetConfiguration.Builder builder = new NeuralNetConfiguration.Builder()
                .seed(4)
                .dataType(type)
                .trainingWorkspaceMode(workspaces)
                .inferenceWorkspaceMode(workspaces)
                .l1(penalty)
                .l2(penalty)
                .updater(new Sgd(0.05));
        return graph
                ? Networks.init(builder.graphBuilder()
                        .addInputs("in")
                        .setInputTypes(input)
                        .addLayer("hidden", hidden, "in")
                        .addLayer("loss", loss, "hidden")
                        .setOutputs("loss")
                        .build())
                : Networks.init(builder.list()
                        .layer(hidden)
                        .layer(loss)
                        .setInputType(input)
                        .build());
    }

    static AmpConfig.Builder config(Precision precision) {
        return AmpConfig.builder().engine(OneDnnEngine.NAME).precision(precision);
    }

    static MixedPrecision enable(Model network, AmpConfig config) {
        return network instanceof ComputationGraph graph
                ? MixedPrecision.enable(graph, config)
                : MixedPrecision.enable((MultiLayerNetwork) network, config);
    }

    private static InferenceMode infer(Model network, AmpConfig config) {
        return network instanceof ComputationGraph graph
                ? MixedPrecision.inference(graph, config)
                : MixedPrecision.inference((MultiLayerNetwork) network, config);
    }

    static double score(Model network, DataSet data) {
        return network instanceof ComputationGraph graph
                ? graph.score(data)
                : ((MultiLayerNetwork) network).score(data);
    }

    static INDArray scores(Model network, DataSet data) {
        return network instanceof ComputationGraph graph
                ? graph.scoreExamples(data, true)
                : ((MultiLayerNetwork) network).scoreExamples(data, true);
    }

    static INDArray output(Model network, INDArray features) {
        return network instanceof ComputationGraph graph
                ? graph.outputSingle(features)
                : ((MultiLayerNetwork) network).output(features);
    }

    /** Returns the sums over examples, without L1 and L2. */
    static INDArray gradient(Model network, DataSet data) {
        if (network instanceof ComputationGraph graph) {
            graph.setInputs(data.getFeatures());
            graph.setLabels(data.getLabels());
        } else {
            ((MultiLayerNetwork) network).setInput(data.getFeatures());
            ((MultiLayerNetwork) network).setLabels(data.getLabels());
        }
        network.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        return network.gradient().gradient().dup();
    }

    /** The row of the loss is this engine's, and not DL4J's. */
    static PrecisionPlan.Row assertComputes(MixedPrecision amp) {
        List<PrecisionPlan.Row> rows = amp.plan().rows();
        PrecisionPlan.Row row = rows.get(rows.size() - 1);
        assertEquals(OneDnnEngine.NAME, row.engine(), row.toString());
        return row;
    }

    /** Takes a step with a loss scale, skips those of broken data, takes another, and returns the loss's row. */
    PrecisionPlan.Row assertTrainsWithAScaleAndSkips(DataSet data, DataSet... broken) {
        Model stock = make();
        Model network = make();
        Precision precision = Types.halfPrecision();
        AmpConfig scaled =
                config(precision).lossScaler(new StaticLossScaler(1024)).build();
        try (MixedPrecision amp = enable(network, scaled)) {
            PrecisionPlan.Row row = assertComputes(amp);
            Networks.fit(stock, data);
            Networks.fit(network, data);
            INDArray before = network.params().dup();
            for (DataSet each : broken) {
                Networks.fit(network, each);
                assertEquals(before, network.params());
            }
            assertEquals(broken.length, amp.stepsSkipped());
            Networks.fit(stock, data);
            Networks.fit(network, data);
            Agreement.assertWithin("parameters", stock.params(), network.params(), tolerance(precision));
            return row;
        }
    }

    /**
     * Takes steps on data, scores it, infers, and scores single examples. Stock DL4J's score of a step may be that of
     * memory that its backward pass has written over: here it has to be that of the data before the step.
     */
    void assertTrainsScoresAndInfersAsStock(DataSet data, Precision precision) {
        double error = tolerance(precision);
        INDArray features = data.getFeatures();
        Model stock = make();
        Model network = make();
        try (MixedPrecision amp = enable(network, config(precision).build())) {
            assertComputes(amp);
            for (int step = 0; step < 3; step++) {
                double expected = score(stock, data);
                Networks.fit(stock, data);
                Networks.fit(network, data);
                assertEquals(expected, network.score(), error * (Math.abs(expected) + 0.1), precision + " score");
            }
            assertAnswersAsStock(precision, stock, network, data);
        }
        try (InferenceMode mode = infer(network, config(precision).build())) {
            assertWithin(precision, " inferred", output(stock, features), output(network, features));
        }
    }

    private static void assertAnswersAsStock(Precision precision, Model stock, Model network, DataSet data) {
        assertWithin(precision, " parameters", stock.params(), network.params());
        INDArray features = data.getFeatures();
        assertWithin(precision, " output", output(stock, features), output(network, features));
        double score = score(stock, data);
        assertEquals(score, score(network, data), tolerance(precision) * (Math.abs(score) + 0.1));
        Object scores = scoresOrFailure(stock, data);
        if (scores instanceof INDArray array) {
            assertWithin(precision, " scores", array, scores(network, data));
        } else {
            assertEquals(scores, scoresOrFailure(network, data));
        }
    }

    /** Returns scores of examples, or in DL4J's layers that have none the class of their exception. */
    private static Object scoresOrFailure(Model network, DataSet data) {
        try {
            return scores(network, data);
        } catch (RuntimeException e) {
            return e.getClass();
        }
    }

    private static void assertWithin(Precision precision, String what, INDArray expected, INDArray actual) {
        Agreement.assertWithin(precision + what, expected, actual, tolerance(precision));
    }

    /** Compares gradients in FP32 with differences of scores of stock DL4J in double precision. */
    void assertGradientsAreDifferences(DataSet data) {
        Model network = make();
        Model reference = make(DataType.DOUBLE);
        // Some are zero at first.
        network.params().addi(gaussian(new Random(8), 0.1, network.params().shape()));
        INDArray parameters = network.params().castTo(DataType.DOUBLE);
        reference.setParams(parameters);
        INDArray differences = Nd4j.create(DataType.DOUBLE, parameters.shape());
        for (long i = 0; i < parameters.length(); i++) {
            differences.putScalar(i, (moved(reference, i, STEP, data) - moved(reference, i, -STEP, data)) / STEP / 2);
        }
        differences.muli(data.numExamples());
        try (MixedPrecision amp = enable(network, config(Precision.FLOAT).build())) {
            assertComputes(amp);
            Agreement.assertWithin("gradient", differences, gradient(network, data), FLOAT_ERROR);
        }
    }

    private static double moved(Model reference, long parameter, double by, DataSet data) {
        INDArray parameters = reference.params();
        double own = parameters.getDouble(parameter);
        parameters.putScalar(parameter, own + by);
        try {
            return score(reference, data);
        } finally {
            parameters.putScalar(parameter, own);
        }
    }

    /** Takes steps of both from the same random numbers. */
    void assertDrawsAsStock(DataSet data) {
        Model stock = make();
        Model network = make();
        try (MixedPrecision amp = enable(network, config(Precision.FLOAT).build())) {
            assertComputes(amp);
            for (int step = 0; step < 3; step++) {
                Nd4j.getRandom().setSeed(step + 1);
                Networks.fit(stock, data);
                double next = Nd4j.getRandom().nextDouble();
                Nd4j.getRandom().setSeed(step + 1);
                Networks.fit(network, data);
                assertEquals(next, Nd4j.getRandom().nextDouble(), "the network has drawn as many numbers");
                assertEquals(stock.score(), network.score(), FLOAT_ERROR * Math.abs(stock.score()));
            }
            Agreement.assertWithin("parameters", stock.params(), network.params(), FLOAT_ERROR);
        }
    }

    /** Trains on data that stock DL4J's layer refuses: the exception is the same. */
    void assertRefusesAsStock(DataSet data) {
        Model stock = make();
        RuntimeException expected = assertThrows(RuntimeException.class, () -> Networks.fit(stock, data));
        Model network = make();
        try (MixedPrecision amp = enable(network, config(Precision.FLOAT).build())) {
            RuntimeException actual = assertThrows(RuntimeException.class, () -> Networks.fit(network, data));
            assertEquals(expected.getClass(), actual.getClass(), expected + " and " + actual);
            assertEquals(expected.getMessage(), actual.getMessage().replace("CenterLossTwin", "CenterLossOutputLayer"));
        }
    }
}
