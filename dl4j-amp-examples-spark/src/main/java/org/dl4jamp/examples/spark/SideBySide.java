package org.dl4jamp.examples.spark;

import java.io.PrintWriter;
import java.util.Locale;
import org.apache.spark.api.java.JavaSparkContext;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.Progress;
import org.dl4jamp.spark.SparkAmp;

/** Trains twice on a cluster, prints both, and holds the model of what a split costs against what it took. */
final class SideBySide {
    private static final String ROW = "%-24s %16s %16s%n";

    private final JavaSparkContext context;
    private final LoopbackCluster toKillIn;
    private final int workers;
    private final int frequency;
    private final int epochs;
    private final PrecisionOptions.Choice choice;

    /**
     * Both trainings.
     *
     * @param toKillIn the cluster that loses an executor in the middle of the second training, or null
     */
    SideBySide(
            JavaSparkContext context,
            LoopbackCluster toKillIn,
            int workers,
            int frequency,
            int epochs,
            PrecisionOptions.Choice choice) {
        this.context = context;
        this.toKillIn = toKillIn;
        this.workers = workers;
        this.frequency = frequency;
        this.epochs = epochs;
        this.choice = choice;
    }

    void run(PrintWriter out) {
        DigitsOnSpark digits = new DigitsOnSpark(context, workers, frequency);
        Calibration calibration = new Calibration(context, workers);
        AmpConfig config = choice.config();
        double stepInFp32;
        double stepInMixed;
        double emptySplit;
        try (Progress progress = Progress.of("warm up", 4)) {
            stepInFp32 = calibration.stepSeconds(null);
            progress.step();
            stepInMixed = calibration.stepSeconds(config);
            progress.step();
            digits.inFp32(1, epoch -> {});
            progress.step();
            emptySplit = calibration.splitSeconds(DigitsOnSpark.stateBytes(), workers * frequency);
            progress.step();
        }
        DigitsOnSpark.Figures fp32;
        try (Progress progress = Progress.of("FP32", epochs)) {
            fp32 = digits.inFp32(epochs, epoch -> progress.step());
        }
        SparkAmp amp = SparkAmp.on(context);
        DigitsOnSpark.Figures mixed;
        try (Progress progress = Progress.of(choice.title(), epochs)) {
            mixed = digits.inMixedPrecision(amp, config, epochs, epoch -> {
                progress.step();
                if (toKillIn != null && epoch == epochs / 3) {
                    killSoon(out);
                }
            });
        }
        print(out, fp32, mixed);
        out.println();
        out.print(amp.report());
        out.println();
        out.printf(
                Locale.ROOT,
                "%d splits of %d workers with %d steps each; a split of nothing, which sends the same, takes %.0f ms%n",
                fp32.splits(),
                workers,
                frequency,
                1e3 * emptySplit);
        printPrediction(out, "FP32", stepInFp32, emptySplit, fp32);
        printPrediction(out, choice.title(), stepInMixed, emptySplit, mixed);
        if (!choice.note().isEmpty()) {
            out.println();
            out.println(choice.note());
        }
        out.flush();
    }

    private void killSoon(PrintWriter out) {
        Thread killer = new Thread(
                () -> {
                    try {
                        Thread.sleep(300);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    toKillIn.killExecutor(0).ifPresent(pid -> {
                        out.println("Ended the executor with process id " + pid);
                        out.flush();
                    });
                },
                "kills-an-executor");
        killer.setDaemon(true);
        killer.start();
    }

    private void print(PrintWriter out, DigitsOnSpark.Figures fp32, DigitsOnSpark.Figures mixed) {
        out.printf("Digits on a Spark cluster after %d epochs, FP32 in DL4J and %s%n%n", epochs, choice.what());
        out.printf(ROW, "", "FP32", choice.title());
        out.printf(ROW, "accuracy", percent(fp32.accuracy()), percent(mixed.accuracy()));
        out.printf(ROW, "loss", decimal("%.4f", fp32.loss()), decimal("%.4f", mixed.loss()));
        out.printf(ROW, "time", decimal("%.1f s", fp32.seconds()), decimal("%.1f s", mixed.seconds()));
        out.printf(ROW, "sent per step", kilobytes(fp32), kilobytes(mixed));
        out.printf(ROW, "steps", fp32.steps(), mixed.steps());
    }

    private static String percent(double part) {
        return decimal("%.2f %%", 100 * part);
    }

    private static String kilobytes(DigitsOnSpark.Figures figures) {
        return decimal("%.1f kB", figures.bytes() / 1e3 / figures.steps());
    }

    private static String decimal(String format, double value) {
        return String.format(Locale.ROOT, format, value);
    }

    private void printPrediction(
            PrintWriter out, String title, double step, double emptySplit, DigitsOnSpark.Figures figures) {
        // Sending over loopback is part of the split of nothing that was measured.
        double predicted =
                new ClusterModel(frequency, 0, emptySplit).splitSeconds(workers, step, Double.POSITIVE_INFINITY);
        double measured = figures.seconds() / figures.splits();
        out.printf(
                Locale.ROOT,
                "%s: a step takes %.1f ms, so the model predicts %.0f ms a split; measured %.0f (%+.0f %%)%n",
                title,
                1e3 * step,
                1e3 * predicted,
                1e3 * measured,
                100 * (predicted / measured - 1));
    }
}
