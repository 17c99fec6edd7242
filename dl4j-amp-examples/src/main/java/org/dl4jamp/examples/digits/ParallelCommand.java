package org.dl4jamp.examples.digits;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.examples.cli.ComparisonCommand;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.parallel.ReplicaState;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** {@code amp parallel}: several replicas of one network in one process, in FP32 and in mixed precision. */
@Command(
        name = "parallel",
        mixinStandardHelpOptions = true,
        description = {
            "A small residual graph learns to read handwritten digits in DL4J's ParallelWrapper, with several"
                    + " replicas.",
            "Trains it in FP32 and in mixed precision, and compares accuracy, loss and time."
        })
public final class ParallelCommand extends ComparisonCommand {
    /** Fits that are long enough to be measured, and short enough for six of them in two minutes. */
    private static final int EPOCHS_FOR_SPEED = 2;

    /** DL4J's training modes that need no further settings. */
    enum Mode {
        AVERAGING(TrainingMode.AVERAGING, 4),
        SHARED_GRADIENTS(TrainingMode.SHARED_GRADIENTS, 12);

        private final TrainingMode dl4js;
        private final int epochs;

        Mode(TrainingMode dl4js, int epochs) {
            this.dl4js = dl4js;
            this.epochs = epochs;
        }
    }

    @Option(
            names = "--workers",
            defaultValue = "2",
            paramLabel = "N",
            description = "How many replicas there are, at least 2 (default: ${DEFAULT-VALUE}).")
    private int workers;

    @Option(
            names = "--mode",
            defaultValue = "averaging",
            paramLabel = "NAME",
            description = "averaging or shared_gradients (default: ${DEFAULT-VALUE}).")
    private Mode mode;

    @Option(
            names = "--epochs",
            paramLabel = "N",
            description = {
                "How often the training images are gone through",
                "(default: 4 in averaging, 12 with shared gradients, which learn more slowly)."
            })
    private Integer epochs;

    @Option(
            names = "--runs",
            defaultValue = "1",
            paramLabel = "N",
            description = "How often each is trained; the table shows medians (default: ${DEFAULT-VALUE}).")
    private int runs;

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = {
                "How many threads each replica's native work takes in mixed precision",
                "(default: an equal part of the processor's)."
            })
    private Integer threads;

    @Option(
            names = "--throughput",
            description = "Instead: images per second with 1 (without ParallelWrapper), 2 and 4 workers.")
    private boolean throughput;

    @Override
    public Integer call() throws Exception {
        requireAtLeast("--workers", workers, 2);
        epochs = epochs == null ? mode.epochs : epochs;
        requireAtLeast("--epochs", epochs, 1);
        requireAtLeast("--runs", runs, 1);
        requireAtLeast("--threads", threads == null ? 1 : threads, 1);
        requireWritableJson();
        PrecisionOptions.Choice choice = choose();
        ParallelTraining training = new ParallelTraining(Digits.load(), mode.dl4js, threads == null ? 0 : threads);
        if (throughput) {
            measure(training, choice);
        } else {
            compare(training, choice);
        }
        return ExitCode.OK;
    }

    private PrecisionOptions.Choice choose() {
        ComputationGraph net = ParallelTraining.network();
        try {
            return choose(net);
        } finally {
            net.close();
        }
    }

    private void compare(ParallelTraining training, PrecisionOptions.Choice choice) throws Exception {
        List<ParallelTraining.Result> fp32 = runs(training, Optional.empty(), "FP32");
        List<ParallelTraining.Result> amp = runs(training, Optional.of(choice), choice.title());
        List<ReplicaState> replicas = amp.get(amp.size() - 1).replicas();
        ParallelFigures figures = new ParallelFigures(
                workers,
                mode.name(),
                medians(fp32),
                medians(amp),
                replicas.stream().map(ParallelCommand::figures).toList());
        print(figures, replicas, choice);
        writeJson(figures);
    }

    private List<ParallelTraining.Result> runs(
            ParallelTraining training, Optional<PrecisionOptions.Choice> choice, String title) {
        List<ParallelTraining.Result> results = new ArrayList<>();
        for (int run = 0; run < runs; run++) {
            String task = runs == 1 ? title : title + ", run " + (run + 1) + " of " + runs;
            results.add(training.train(workers, epochs, choice, run, task));
        }
        return results;
    }

    private static ParallelFigures.Side medians(List<ParallelTraining.Result> results) {
        return new ParallelFigures.Side(
                median(results, ParallelFigures.Side::accuracy),
                median(results, ParallelFigures.Side::loss),
                median(results, ParallelFigures.Side::seconds));
    }

    private static double median(List<ParallelTraining.Result> results, ToDoubleFunction<ParallelFigures.Side> figure) {
        double[] sorted = results.stream()
                .map(ParallelTraining.Result::figures)
                .mapToDouble(figure)
                .sorted()
                .toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private static ParallelFigures.Replica figures(ReplicaState state) {
        return new ParallelFigures.Replica(
                state.replica(),
                state.precision().name(),
                state.engine(),
                state.lossScale(),
                state.stepsTaken(),
                state.stepsSkipped());
    }

    private void print(ParallelFigures figures, List<ReplicaState> replicas, PrecisionOptions.Choice choice) {
        PrintWriter out = out();
        out.printf(
                "Residual graph, %d workers, %s, %d epochs%s: FP32 in DL4J and %s%n%n",
                workers, mode, epochs, runs > 1 ? ", medians of " + runs + " runs" : "", choice.what());
        String row = "%-16s %14s %10s %10s%n";
        out.printf(row, "", "test accuracy", "test loss", "time");
        printSide(out, row, "FP32", figures.fp32());
        printSide(out, row, choice.title(), figures.amp());
        out.printf(
                "%nDifference in accuracy: %+.2f points%n%n",
                100 * (figures.amp().accuracy() - figures.fp32().accuracy()));
        replicas.forEach(out::println);
        printNote(choice);
    }

    private static void printSide(PrintWriter out, String row, String title, ParallelFigures.Side side) {
        out.printf(
                row,
                title,
                String.format(Locale.ROOT, "%.2f %%", 100 * side.accuracy()),
                String.format(Locale.ROOT, "%.4f", side.loss()),
                String.format(Locale.ROOT, "%.1f s", side.seconds()));
    }

    private void measure(ParallelTraining training, PrecisionOptions.Choice choice) throws Exception {
        List<ParallelFigures.Throughput> rows = new ArrayList<>();
        for (int replicas : new int[] {1, 2, 4}) {
            System.err.println("measuring with " + replicas + (replicas == 1 ? " worker" : " workers"));
            rows.add(new ParallelFigures.Throughput(
                    replicas,
                    training.throughput(replicas, Optional.empty(), EPOCHS_FOR_SPEED),
                    training.throughput(replicas, Optional.of(choice), EPOCHS_FOR_SPEED)));
        }
        PrintWriter out = out();
        out.printf(
                "Images per second in training, residual graph, batches of 64, %s, %d processors%n%n",
                mode, Runtime.getRuntime().availableProcessors());
        String row = "%-10s %12s %16s %10s%n";
        out.printf(row, "workers", "FP32", choice.title(), "factor");
        for (ParallelFigures.Throughput one : rows) {
            out.printf(
                    row,
                    one.workers(),
                    String.format(Locale.ROOT, "%.0f", one.fp32()),
                    String.format(Locale.ROOT, "%.0f", one.amp()),
                    String.format(Locale.ROOT, "%.1f", one.amp() / one.fp32()));
        }
        printNote(choice);
        writeJson(rows);
    }
}
