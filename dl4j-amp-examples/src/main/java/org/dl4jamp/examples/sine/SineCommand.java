package org.dl4jamp.examples.sine;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.examples.cli.ComparisonCommand;
import org.dl4jamp.examples.cli.OutputFile;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.ReportOption;
import org.nd4j.linalg.api.ndarray.INDArray;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code amp sine}: the same network from the same parameters on the same data, in FP32 and in mixed precision. */
@Command(
        name = "sine",
        mixinStandardHelpOptions = true,
        description = {
            "A convolutional network learns a quantized two-dimensional sinusoid from coordinates.",
            "Trains it in FP32 and in mixed precision, compares time, memory and loss, and draws what was learned."
        })
public final class SineCommand extends ComparisonCommand {
    @Option(
            names = "--size",
            defaultValue = "128",
            paramLabel = "N",
            description = "The grid, which is the batch, has N x N points (default: ${DEFAULT-VALUE}).")
    private int size;

    @Option(
            names = "--hidden",
            defaultValue = "256",
            paramLabel = "N",
            description = "Channels of the hidden convolutions (default: ${DEFAULT-VALUE}).")
    private int hidden;

    @Option(
            names = "--layers",
            defaultValue = "2",
            paramLabel = "N",
            description = "Convolutions between hidden channels (default: ${DEFAULT-VALUE}).")
    private int layers;

    @Option(
            names = "--iterations",
            defaultValue = "24",
            paramLabel = "N",
            description = "Iterations of training (default: ${DEFAULT-VALUE}).")
    private int iterations;

    @Option(
            names = "--image",
            defaultValue = "sine.png",
            paramLabel = "FILE",
            description = "Where to draw the results, as PNG (default: ${DEFAULT-VALUE}).")
    private Path image;

    @Mixin
    private ReportOption report;

    @Override
    public Integer call() throws Exception {
        requireAtLeast("--size", size, 2);
        requireAtLeast("--hidden", hidden, 1);
        requireAtLeast("--layers", layers, 0);
        requireAtLeast("--iterations", iterations, 1);
        OutputFile.requireWritable(commandLine(), "--image", image);
        requireWritableJson();
        requireOther("--json", json(), "--image", image);
        requireOther("--report", report.file(), "--image", image);
        requireOther("--report", report.file(), "--json", json());
        report.begin(commandLine());

        SineGrid grid = SineGrid.ofSize(size);
        MultiLayerConfiguration configuration = SineNetwork.configuration(size, hidden, layers);
        MultiLayerNetwork network = new MultiLayerNetwork(configuration.clone());
        network.init();
        INDArray initialParameters = network.params().dup();
        PrecisionOptions.Choice choice = choose(network);
        network.close();

        SineTraining training = new SineTraining(configuration, initialParameters, grid, iterations);
        training.warmUp();
        SineTraining.Outcome<SineFigures.Fp32> fp32 = training.inFp32();
        SineTraining.Outcome<SineFigures.Amp> amp = training.inMixedPrecision(choice, report);

        SineFigures figures = SineFigures.of(fp32.figures(), amp.figures());
        print(figures, choice);
        writeJson(figures);
        String noText = SineImage.noText();
        if (noText.isEmpty()) {
            OutputFile.write(commandLine(), "--image", image, new SineImage(grid, fp32, amp, choice.title()).png());
            out().println("Image: " + image);
        } else {
            out().println("Image: none, because Java finds no fonts here (" + noText
                    + "). Install the system's fontconfig, freetype and harfbuzz to have one.");
        }
        report.end(commandLine());
        out().flush();
        return ExitCode.OK;
    }

    private void print(SineFigures figures, PrecisionOptions.Choice choice) {
        PrintWriter out = out();
        SineFigures.Fp32 fp32 = figures.fp32();
        SineFigures.Amp amp = figures.amp();
        String row = "%-20s %14s %14s%n";
        out.printf(
                "Quantized sinusoid on a %d x %d grid, %d hidden channels, %d hidden layers, %d iterations%n%n",
                size, size, hidden, layers, iterations);
        out.printf(row, "", "FP32", choice.title());
        out.printf(row, "engine", "dl4j", amp.engine());
        out.printf(row, "time", seconds(fp32.seconds()), seconds(amp.seconds()));
        out.printf(row, "time per iteration", millis(fp32.secondsPerIteration()), millis(amp.secondsPerIteration()));
        out.printf(row, "peak memory", megabytes(fp32.peakBytes()), megabytes(amp.peakBytes()));
        out.printf(row, "loss (MSE)", loss(fp32.loss()), loss(amp.loss()));
        out.printf(row, "skipped steps", "", amp.stepsSkipped());
        boolean mixed = choice.precision().isHalf();
        if (mixed) {
            out.printf(row, "final loss scale", "", String.format(Locale.ROOT, "%.0f", amp.lossScale()));
        }
        out.println();
        out.printf(
                Locale.ROOT,
                "Speed-up: %.2f (step time %s: %.2f)%n",
                figures.speedup(),
                mixed ? "AMP/FP32" : choice.engine() + "/dl4j",
                1 / figures.speedup());
        out.printf(Locale.ROOT, "Memory saving: %.0f %%%n", 100 * figures.memorySaving());
        if (!choice.note().isEmpty()) {
            out.println(choice.note());
        }
        out.flush();
    }

    private static String seconds(double seconds) {
        return String.format(Locale.ROOT, "%.1f s", seconds);
    }

    private static String millis(double seconds) {
        return String.format(Locale.ROOT, "%.1f ms", 1e3 * seconds);
    }

    private static String megabytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f MB", bytes / 1e6);
    }

    private static String loss(double loss) {
        return String.format(Locale.ROOT, "%.5f", loss);
    }
}
