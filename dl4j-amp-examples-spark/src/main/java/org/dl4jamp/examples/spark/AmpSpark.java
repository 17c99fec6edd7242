package org.dl4jamp.examples.spark;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.examples.AmpCommand;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.digits.DigitsNetworks;
import org.dl4jamp.precision.AmpException;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code amp spark}: the same training in FP32 and in mixed precision on a Spark cluster. */
@Command(
        name = "amp spark",
        mixinStandardHelpOptions = true,
        description = {
            "A small residual graph learns to read handwritten digits on a Spark cluster, in FP32 and in mixed"
                    + " precision.",
            "Starts a master and two workers on loopback, and ends them again; DL4J averages parameters."
        })
public final class AmpSpark implements Callable<Integer> {
    private static final int WORKERS = 2;
    private static final long PATIENCE_SECONDS = 60;

    @Option(
            names = "--epochs",
            defaultValue = "10",
            paramLabel = "N",
            description = "How often the training images are gone through (default: ${DEFAULT-VALUE}).")
    private int epochs;

    @Option(
            names = "--frequency",
            defaultValue = "10",
            paramLabel = "N",
            description = "Steps between two averagings (default: ${DEFAULT-VALUE}).")
    private int frequency;

    @Option(
            names = "--kill",
            description = "Ends the process of an executor in the middle of the training in mixed precision.")
    private boolean kill;

    @Option(
            names = "--master",
            paramLabel = "URL",
            description = "A cluster of your own, such as spark://host:7077, in place of one on loopback.")
    private String master;

    @Option(
            names = "--workers",
            defaultValue = "2",
            paramLabel = "N",
            description = "With --master: how many executors train (default: ${DEFAULT-VALUE}).")
    private int workers;

    @Option(
            names = "--model",
            paramLabel = "CASE",
            description = {
                "Trains nothing and prints what 1 to 1,024 executors gain over 1, 10 and 100 Gbit/s,",
                "for a case of the benchmark: ${COMPLETION-CANDIDATES}."
            })
    private Workload model;

    @Mixin
    private PrecisionOptions precisionOptions;

    @Spec
    private CommandSpec spec;

    /** Runs the command and ends the JVM with its exit code. */
    public static void main(String[] args) {
        System.exit(AmpCommand.commandLine(new AmpSpark()).execute(withoutName(args)));
    }

    /** Returns the arguments after the command's own name, which Windows' launcher passes along. */
    static String[] withoutName(String[] args) {
        return args.length > 0 && args[0].equals("spark") ? Arrays.copyOfRange(args, 1, args.length) : args;
    }

    @Override
    public Integer call() throws Exception {
        checkOptions();
        PrintWriter out = spec.commandLine().getOut();
        if (model != null) {
            ModelTable.print(out, model, frequency);
            return ExitCode.OK;
        }
        PrecisionOptions.Choice choice = precisionOptions.choose(spec.commandLine(), newGraph());
        if (master != null) {
            try (JavaSparkContext context = new JavaSparkContext(
                    OwnCluster.configuration(master, workers).setAppName("amp spark"))) {
                new SideBySide(context, null, workers, frequency, epochs, choice).run(out);
            }
            return ExitCode.OK;
        }
        try (LoopbackCluster cluster = LoopbackCluster.start(WORKERS);
                JavaSparkContext context = connect(cluster)) {
            new SideBySide(context, kill ? cluster : null, WORKERS, frequency, epochs, choice).run(out);
        }
        return ExitCode.OK;
    }

    private void checkOptions() {
        if (epochs < 1) {
            throw wrong("--epochs " + epochs + ": must be at least 1");
        }
        if (workers < 1) {
            throw wrong("--workers " + workers + ": must be at least 1");
        }
        if (kill && master != null) {
            throw wrong("--kill: ends an executor of the cluster that this command starts; leave out --master");
        }
        int train = master == null ? WORKERS : workers;
        int most = DigitsOnSpark.batchesOfAnEpoch() / train;
        if (frequency < 1 || (model == null && frequency > most)) {
            throw wrong("--frequency " + frequency + ": must be from 1 to " + most + ", for an epoch has "
                    + DigitsOnSpark.batchesOfAnEpoch() + " batches for " + train + " workers");
        }
        if (model == null) {
            SparkJvm.refusal(Runtime.version().feature()).ifPresent(refusal -> {
                throw wrong(refusal);
            });
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private static ComputationGraph newGraph() {
        ComputationGraph graph = new ComputationGraph(DigitsNetworks.residual());
        graph.init();
        return graph;
    }

    /** Connects a driver to a cluster, as soon as all its executors are there. */
    static JavaSparkContext connect(LoopbackCluster cluster) throws IOException {
        SparkConf configuration = cluster.configuration().setAppName("amp spark");
        JavaSparkContext context = new JavaSparkContext(configuration);
        try {
            awaitExecutors(cluster, context);
            return context;
        } catch (IOException | RuntimeException e) {
            context.close();
            throw e;
        }
    }

    /** Waits until a cluster's executors are there. */
    static void awaitExecutors(LoopbackCluster cluster, JavaSparkContext context) throws IOException {
        long deadline = System.nanoTime() + PATIENCE_SECONDS * 1_000_000_000L;
        // The driver counts as one.
        while (context.sc().statusTracker().getExecutorInfos().length <= WORKERS) {
            cluster.check();
            if (System.nanoTime() > deadline) {
                throw new AmpException("The executors of the Spark cluster on loopback didn't come within "
                        + PATIENCE_SECONDS + " seconds; each needs 768 MB");
            }
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while executors start", e);
            }
        }
    }
}
