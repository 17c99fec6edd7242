package org.dl4jamp.examples.digits;

import java.util.List;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.Progress;
import org.dl4jamp.examples.cli.ReportOption;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;

/** Trains networks on the same batches in the same order, and counts the test images that they recognize. */
final class DigitsTraining {
    private static final long SPLIT_SEED = 1;
    private static final int TEST_IMAGES = 450;
    private static final int BATCH = 64;

    private final Digits train;
    private final DataSet test;
    private final int epochs;

    DigitsTraining(Digits digits, int epochs) {
        Digits shuffled = digits.shuffled(SPLIT_SEED);
        int trainImages = digits.size() - TEST_IMAGES;
        this.train = shuffled.range(0, trainImages);
        this.test = shuffled.range(trainImages, digits.size()).toDataSet();
        this.epochs = epochs;
    }

    /**
     * Trains as DL4J does.
     *
     * @param network makes the network, with the same parameters each time
     */
    DigitsFigures.Fp32 inFp32(Supplier<NeuralNetwork> network, String name) {
        NeuralNetwork net = network.get();
        double seconds = fit(net, name + " FP32");
        DigitsFigures.Fp32 figures = new DigitsFigures.Fp32(accuracy(net), seconds);
        close(net);
        return figures;
    }

    /** Trains in mixed precision, with a report where one was asked for. */
    DigitsFigures.Amp inMixedPrecision(
            Supplier<NeuralNetwork> network, String name, PrecisionOptions.Choice choice, ReportOption reports) {
        NeuralNetwork net = network.get();
        try (MixedPrecision amp = PrecisionOptions.enable(net, choice.config())) {
            double seconds;
            try (ReportOption.Attached report = reports.attach(net, name)) {
                seconds = fit(net, name + " " + choice.title());
            }
            return new DigitsFigures.Amp(
                    accuracy(net), seconds, amp.precision().name(), amp.engine(), amp.stepsSkipped(), amp.lossScale());
        } finally {
            close(net);
        }
    }

    private double fit(NeuralNetwork network, String task) {
        double seconds = 0;
        try (Progress progress = Progress.of(task, epochs)) {
            for (int epoch = 0; epoch < epochs; epoch++) {
                List<DataSet> batches = train.shuffled(epoch).batches(BATCH);
                long start = System.nanoTime();
                batches.forEach(network::fit);
                seconds += (System.nanoTime() - start) / 1e9;
                progress.step();
            }
        }
        return seconds;
    }

    private double accuracy(NeuralNetwork network) {
        return network.doEvaluation(new SingletonDataSetIterator(test), new Evaluation(Digits.CLASSES))[0].accuracy();
    }

    private static void close(NeuralNetwork network) {
        if (network instanceof ComputationGraph graph) {
            graph.close();
        } else {
            ((MultiLayerNetwork) network).close();
        }
    }
}
