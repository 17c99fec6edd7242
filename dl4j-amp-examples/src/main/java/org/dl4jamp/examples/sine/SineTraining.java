package org.dl4jamp.examples.sine;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.Progress;
import org.dl4jamp.examples.cli.ReportOption;
import org.dl4jamp.examples.measure.HeldMemory;
import org.dl4jamp.examples.measure.MeasuredTraining;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Trains networks that start from the same parameters on the same grid.
 *
 * @param configuration the network
 * @param initialParameters what each training starts from
 * @param grid what it is trained on
 * @param iterations for how long
 */
record SineTraining(MultiLayerConfiguration configuration, INDArray initialParameters, SineGrid grid, int iterations) {
    private static final int WARM_UP_ITERATIONS = 3;

    /**
     * The result of a training.
     *
     * @param training its time and memory
     * @param figures the reported figures
     * @param output [1, 1, size, size]: the trained network's output for each point of the grid
     */
    record Outcome<F>(MeasuredTraining training, F figures, INDArray output) {}

    /** Trains a little, so that the measured trainings don't include loading and compiling by JVM and ND4J. */
    void warmUp() {
        MultiLayerNetwork network = newNetwork();
        for (int i = 0; i < WARM_UP_ITERATIONS; i++) {
            network.fit(grid.coordinates(), grid.target());
        }
        network.close();
    }

    /** Trains as DL4J does. */
    Outcome<SineFigures.Fp32> inFp32() {
        HeldMemory memory = HeldMemory.baseline();
        MultiLayerNetwork network = newNetwork();
        MeasuredTraining training = train(network, memory, "FP32");
        INDArray output = output(network);
        network.close();
        return new Outcome<>(training, SineFigures.Fp32.of(training), output);
    }

    /** Trains in mixed precision, with a report where one was asked for. */
    Outcome<SineFigures.Amp> inMixedPrecision(PrecisionOptions.Choice choice, ReportOption reports) {
        HeldMemory memory = HeldMemory.baseline();
        MultiLayerNetwork network = newNetwork();
        try (MixedPrecision amp = MixedPrecision.enable(network, choice.config());
                ReportOption.Attached report = reports.attach(network, "")) {
            MeasuredTraining training = train(network, memory, choice.title());
            return new Outcome<>(training, SineFigures.Amp.of(training, amp), output(network));
        } finally {
            network.close();
        }
    }

    private MultiLayerNetwork newNetwork() {
        MultiLayerNetwork network = new MultiLayerNetwork(configuration.clone());
        network.init(initialParameters, true);
        return network;
    }

    private MeasuredTraining train(MultiLayerNetwork network, HeldMemory memory, String name) {
        try (Progress progress = Progress.of(name, iterations)) {
            return MeasuredTraining.run(
                    iterations,
                    () -> {
                        network.fit(grid.coordinates(), grid.target());
                        return grid.meanOverPoints(network.score());
                    },
                    memory,
                    progress::step);
        }
    }

    private INDArray output(MultiLayerNetwork network) {
        return network.output(grid.coordinates());
    }
}
