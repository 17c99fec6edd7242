package org.dl4jamp.examples.digits;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Accuracy of several replicas on real data, medians of five trainings: stock DL4J's varies, too. Takes hours; runs
 * with the profile {@code parallel}.
 */
class ReplicasOnDigits {
    private static final int RUNS = 5;

    /**
     * A network without batch normalization for four replicas that share gradients. DL4J adds up their running
     * statistics as well, and its own FP32 came to 48 to 96 % with them.
     */
    @ParameterizedTest
    @CsvSource({"AVERAGING, 2, true", "AVERAGING, 4, true", "SHARED_GRADIENTS, 2, true", "SHARED_GRADIENTS, 4, false"})
    void accuracyIsWithinAPointOfFp32(TrainingMode mode, int workers, boolean normalized) {
        ParallelTraining training = new ParallelTraining(
                Digits.load(), mode, 0, normalized ? ParallelTraining::network : ReplicasOnDigits::plain);
        double full = median(training, mode, workers, Optional.empty());
        double half = median(training, mode, workers, Optional.of(choice(Precision.HALF, "nd4j")));
        double oneDnn = median(training, mode, workers, Optional.of(choice(Precision.AUTO, "onednn")));
        System.out.printf(
                "%s, %d workers: FP32 %.4f, HALF on nd4j %.4f, onednn %.4f%n", mode, workers, full, half, oneDnn);
        assertEquals(full, half, 0.01, "HALF on nd4j");
        assertEquals(full, oneDnn, 0.01, "onednn");
    }

    private static ComputationGraph plain() {
        MultiLayerNetwork network = new MultiLayerNetwork(DigitsNetworks.cnn());
        network.init();
        return network.toComputationGraph();
    }

    private static PrecisionOptions.Choice choice(Precision precision, String engine) {
        AmpConfig config =
                AmpConfig.builder().precision(precision).engine(engine).build();
        try (MixedPrecision amp = MixedPrecision.enable(ParallelTraining.network(), config)) {
            return new PrecisionOptions.Choice(config, amp.precision(), amp.engine());
        }
    }

    private static double median(
            ParallelTraining training, TrainingMode mode, int workers, Optional<PrecisionOptions.Choice> choice) {
        String title = choice.map(PrecisionOptions.Choice::title).orElse("FP32");
        double[] accuracies = IntStream.range(0, RUNS)
                .mapToDouble(run -> training.train(
                                workers,
                                mode == TrainingMode.AVERAGING ? 4 : 30,
                                choice,
                                run,
                                mode + " " + workers + " " + title)
                        .figures()
                        .accuracy())
                .sorted()
                .toArray();
        System.out.println(title + " " + Arrays.toString(accuracies));
        return accuracies[RUNS / 2];
    }
}
