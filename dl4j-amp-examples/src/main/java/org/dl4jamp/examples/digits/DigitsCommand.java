package org.dl4jamp.examples.digits;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.examples.cli.ComparisonCommand;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.ReportOption;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code amp digits}: accuracy on real data, in FP32 and in mixed precision. */
@Command(
        name = "digits",
        mixinStandardHelpOptions = true,
        description = {
            "A small convolutional network and a small residual graph learn to read handwritten digits.",
            "Trains each in FP32 and in mixed precision, and compares their accuracy on images not trained on."
        })
public final class DigitsCommand extends ComparisonCommand {
    @Option(
            names = "--epochs",
            defaultValue = "12",
            paramLabel = "N",
            description = "How often the training images are gone through (default: ${DEFAULT-VALUE}).")
    private int epochs;

    @Mixin
    private ReportOption report;

    @Override
    public Integer call() throws Exception {
        requireAtLeast("--epochs", epochs, 1);
        requireWritableJson();
        requireOther("--report", report.file(), "--json", json());
        report.begin(commandLine(), "cnn", "residual");
        PrecisionOptions.Choice choice = choose(newCnn());

        DigitsTraining training = new DigitsTraining(Digits.load(), epochs);
        DigitsFigures figures = new DigitsFigures(
                both(training, DigitsCommand::newCnn, "cnn", choice),
                both(training, DigitsCommand::newResidual, "residual", choice));
        print(figures, choice);
        writeJson(figures);
        report.end(commandLine());
        return ExitCode.OK;
    }

    private DigitsFigures.Network both(
            DigitsTraining training, Supplier<NeuralNetwork> network, String name, PrecisionOptions.Choice choice) {
        return new DigitsFigures.Network(
                training.inFp32(network, name), training.inMixedPrecision(network, name, choice, report));
    }

    /** The configuration's seed gives it the same parameters each time. */
    private static MultiLayerNetwork newCnn() {
        MultiLayerNetwork network = new MultiLayerNetwork(DigitsNetworks.cnn());
        network.init();
        return network;
    }

    private static ComputationGraph newResidual() {
        ComputationGraph network = new ComputationGraph(DigitsNetworks.residual());
        network.init();
        return network;
    }

    private void print(DigitsFigures figures, PrecisionOptions.Choice choice) {
        PrintWriter out = out();
        out.printf("Test accuracy after %d epochs, FP32 in DL4J and %s%n%n", epochs, choice.what());
        String row = "%-10s %10s %12s %14s %16s %14s%n";
        out.printf(row, "network", "FP32", choice.title(), "difference", "skipped steps", "time");
        printRow(out, row, "cnn", figures.cnn());
        printRow(out, row, "residual", figures.residual());
        printNote(choice);
    }

    private static void printRow(PrintWriter out, String row, String name, DigitsFigures.Network network) {
        DigitsFigures.Fp32 fp32 = network.fp32();
        DigitsFigures.Amp amp = network.amp();
        out.printf(
                row,
                name,
                String.format(Locale.ROOT, "%.2f %%", 100 * fp32.accuracy()),
                String.format(Locale.ROOT, "%.2f %%", 100 * amp.accuracy()),
                String.format(Locale.ROOT, "%+.2f points", 100 * (amp.accuracy() - fp32.accuracy())),
                amp.stepsSkipped(),
                String.format(Locale.ROOT, "%.1f s, %.1f s", fp32.seconds(), amp.seconds()));
    }
}
