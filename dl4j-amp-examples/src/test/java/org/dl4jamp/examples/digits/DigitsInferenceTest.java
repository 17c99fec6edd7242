package org.dl4jamp.examples.digits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.ops.transforms.Transforms;

/** Networks that have learnt to read digits, in inference mode and in stock DL4J's FP32. */
class DigitsInferenceTest {
    private static final int TRAINED = 1347;
    private static final double OF_PROBABILITIES = 0.01;
    /** BFLOAT16 keeps eight bits: where two classes are nearly as likely it may be off by more. */
    private static final double IN_BFLOAT16 = 0.03;

    private static final double OF_IMAGES = 0.99;

    private static final Digits DIGITS = Digits.load().shuffled(1);
    private static final INDArray TEST =
            DIGITS.range(TRAINED, DIGITS.size()).toDataSet().getFeatures();
    private static final Map<String, Trained> NETWORKS =
            Map.of("cnn", Trained.of(cnn()), "residual", Trained.of(residual()));

    /** A network, and its FP32 output for the test images. */
    private record Trained(NeuralNetwork network, INDArray probabilities) {
        static Trained of(NeuralNetwork network) {
            AmpConfig quick = AmpConfig.builder()
                    .engine("onednn")
                    .precision(Precision.FLOAT)
                    .build();
            try (MixedPrecision amp = MixedPrecision.enable((Model) network, quick)) {
                for (int epoch = 0; epoch < 12; epoch++) {
                    for (DataSet batch :
                            DIGITS.range(0, TRAINED).shuffled(epoch).batches(64)) {
                        network.fit(batch);
                    }
                }
            }
            return new Trained(network, output(network));
        }
    }

    private static NeuralNetwork cnn() {
        MultiLayerNetwork network = new MultiLayerNetwork(DigitsNetworks.cnn());
        network.init();
        return network;
    }

    private static NeuralNetwork residual() {
        ComputationGraph graph = new ComputationGraph(DigitsNetworks.residual());
        graph.init();
        return graph;
    }

    private static INDArray output(NeuralNetwork network) {
        return network instanceof ComputationGraph graph
                ? graph.outputSingle(TEST)
                : ((MultiLayerNetwork) network).output(TEST);
    }

    private static Stream<Arguments> settings() {
        List<Function<String, Arguments>> settings = new ArrayList<>();
        for (Precision precision : List.of(Precision.HALF, Precision.BFLOAT16, Precision.FLOAT)) {
            settings.add(network -> Arguments.of(network, "nd4j", precision));
        }
        for (Precision precision : List.of(Precision.AUTO, Precision.FLOAT)) {
            settings.add(network -> Arguments.of(network, "onednn", precision));
        }
        return Stream.of("cnn", "residual").flatMap(network -> settings.stream().map(one -> one.apply(network)));
    }

    @ParameterizedTest
    @MethodSource("settings")
    void probabilitiesAndClassesAreThoseOfFp32(String name, String engine, Precision precision) {
        Trained trained = NETWORKS.get(name);
        AmpConfig config =
                AmpConfig.builder().engine(engine).precision(precision).build();
        INDArray probabilities;
        Precision used;
        try (InferenceMode mode = MixedPrecision.inference((Model) trained.network(), config)) {
            probabilities = output(trained.network());
            used = mode.plan().precision();
            assertEquals(engine, mode.engine());
        }
        INDArray differences =
                Transforms.abs(trained.probabilities().sub(probabilities)).max(1);
        double allowed = used == Precision.BFLOAT16 ? IN_BFLOAT16 : OF_PROBABILITIES;
        assertTrue(
                differences.maxNumber().doubleValue() <= allowed,
                () -> "probabilities are off by " + differences.maxNumber());
        assertMostImages(differences.lte(OF_PROBABILITIES), "probabilities within " + OF_PROBABILITIES);
        assertMostImages(trained.probabilities().argMax(1).eq(probabilities.argMax(1)), "the same class");
        assertEquals(trained.probabilities(), output(trained.network()), "FP32 again");
    }

    private static void assertMostImages(INDArray which, String what) {
        double share = which.castTo(DataType.FLOAT).meanNumber().doubleValue();
        assertTrue(share >= OF_IMAGES, () -> what + " for " + 100 * share + " % of the images");
    }
}
