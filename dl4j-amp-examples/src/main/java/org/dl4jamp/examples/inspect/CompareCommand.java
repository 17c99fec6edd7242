package org.dl4jamp.examples.inspect;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.cli.BadInputException;
import org.dl4jamp.examples.cli.OutputFile;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.RuleOptions;
import org.dl4jamp.inspect.compare.Comparison;
import org.dl4jamp.inspect.compare.data.BatchSettings;
import org.dl4jamp.inspect.compare.data.CsvBatches;
import org.dl4jamp.inspect.compare.data.RandomBatches;
import org.dl4jamp.inspect.compare.report.ComparisonHtml;
import org.dl4jamp.inspect.compare.report.ComparisonJson;
import org.dl4jamp.inspect.compare.report.ComparisonText;
import org.dl4jamp.inspect.model.ModelFile;
import org.dl4jamp.inspect.model.SavedLossScale;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.dataset.MultiDataSet;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code amp compare}: a saved model's numbers in FP32 and in mixed precision. */
@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        description = {
            "Runs the same batches through a saved model in FP32, in stock DL4J, and in mixed precision. Shows for each"
                    + " layer and parameter how far its numbers differ, names the weakest layer, and looks for the"
                    + " policy that mends it.",
            "A file of --data has one example in a line: features, then labels. A header is optional. Labels of classes"
                    + " are a one among zeros, or the number of the class. Images: channels, height, width. Sequences:"
                    + " a line is one time step, and --timesteps lines are one sequence."
        })
public final class CompareCommand implements Callable<Integer> {
    private static final Path STANDARD_OUTPUT = Path.of("-");

    @Parameters(paramLabel = "MODEL.zip", description = "A model that ModelSerializer or AmpModelSerializer has saved.")
    private Path model;

    @CommandLine.ArgGroup
    private Source source = new Source();

    /** One of both. */
    private static final class Source {
        @Option(names = "--data", paramLabel = "FILE.csv", description = "Batches from comma-separated values.")
        private Path data;

        @Option(names = "--random", description = "Random batches; the default.")
        private boolean random;

        boolean isRandom() {
            return random || data == null;
        }
    }

    @Option(
            names = "--batch",
            defaultValue = "8",
            paramLabel = "N",
            description = "Examples in a batch (default: ${DEFAULT-VALUE}).")
    private int batch;

    @Option(
            names = "--batches",
            defaultValue = "1",
            paramLabel = "N",
            description = "Number of batches (default: ${DEFAULT-VALUE}). All are kept in memory.")
    private int batches;

    @Option(
            names = "--timesteps",
            defaultValue = "20",
            paramLabel = "N",
            description = "Length of sequences (default: ${DEFAULT-VALUE}).")
    private int timesteps;

    @Option(
            names = "--input",
            paramLabel = "SIZES",
            description = {
                "Sizes of an input where the model leaves them open: 3,224,224 for channels, height and width.",
                "Once for each input, in order."
            })
    private List<String> sizes = new ArrayList<>();

    @Option(
            names = "--seed",
            defaultValue = "1",
            paramLabel = "N",
            description = "Seed of random batches (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "Where to write all figures, as JSON; - for standard output, in place of the text.")
    private Path json;

    @Option(names = "--html", paramLabel = "FILE", description = "Where to write a page with histograms.")
    private Path html;

    @Option(names = "--verbose", description = "Shows the stack trace of an error.")
    private boolean verbose;

    @Mixin
    private PrecisionOptions precisionOptions;

    @Mixin
    private RuleOptions rules;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        CommandLine command = spec.commandLine();
        requireAtLeastOne("--batch", batch);
        requireAtLeastOne("--batches", batches);
        requireAtLeastOne("--timesteps", timesteps);
        boolean jsonToFile = json != null && !json.equals(STANDARD_OUTPUT);
        CommandFiles files = new CommandFiles(command);
        files.reads(model);
        files.reads(source.data);
        files.writes("--json", jsonToFile ? json : null);
        files.writes("--html", html);
        Comparison comparison;
        String data = source.isRandom() ? "random, seed " + seed : source.data.toString();
        try {
            Model network = ModelFile.read(model);
            List<MultiDataSet> all = batches(network);
            comparison = Comparison.run(network, rules.in(config(network)), all);
        } catch (AmpException e) {
            throw new BadInputException(e, verbose);
        }
        write(comparison, data, jsonToFile);
        return ExitCode.OK;
    }

    private AmpConfig config(Model network) {
        CommandLine command = spec.commandLine();
        return ModelFile.settings(model, network)
                .map(saved -> command.getParseResult().hasMatchedOption("--precision")
                        ? saved
                        : SavedLossScale.in(saved, model))
                .map(saved -> precisionOptions.in(saved, command.getParseResult()))
                .orElseGet(() -> precisionOptions
                        .choose(command, (NeuralNetwork) network)
                        .config());
    }

    private void requireAtLeastOne(String option, int value) {
        if (value < 1) {
            throw new ParameterException(spec.commandLine(), option + " " + value + ": must be at least 1");
        }
    }

    private List<MultiDataSet> batches(Model network) {
        BatchSettings settings = new BatchSettings(batch, batches, timesteps, seed, sizes);
        return source.isRandom()
                ? RandomBatches.of(network, settings)
                : CsvBatches.read(source.data, network, settings);
    }

    private void write(Comparison comparison, String data, boolean jsonToFile) throws Exception {
        CommandLine command = spec.commandLine();
        String name = String.valueOf(model.getFileName());
        JsonNode figures = ComparisonJson.of(name, data, comparison);
        if (STANDARD_OUTPUT.equals(json)) {
            command.getOut().print(OutputFile.json(figures));
        } else {
            command.getOut().print(ComparisonText.of(name, data, comparison));
        }
        command.getOut().flush();
        if (jsonToFile) {
            OutputFile.writeJson(command, json, figures);
        }
        if (html != null) {
            byte[] page = ComparisonHtml.of(name, data, comparison).getBytes(StandardCharsets.UTF_8);
            OutputFile.write(command, "--html", html, page);
        }
    }
}
