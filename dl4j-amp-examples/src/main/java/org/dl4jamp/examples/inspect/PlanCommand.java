package org.dl4jamp.examples.inspect;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.cli.BadInputException;
import org.dl4jamp.examples.cli.OutputFile;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.RuleOptions;
import org.dl4jamp.inspect.drawing.PlanDrawing;
import org.dl4jamp.inspect.model.ModelFile;
import org.dl4jamp.inspect.plan.NetworkPlan;
import org.dl4jamp.inspect.plan.PlanMaker;
import org.dl4jamp.inspect.plan.PlanTable;
import org.dl4jamp.precision.AmpException;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code amp plan}: the precision, cost and saving of each layer of a saved model. */
@Command(
        name = "plan",
        mixinStandardHelpOptions = true,
        description = {
            "Shows what dl4j-amp does with a saved model on this machine, layer by layer:",
            "precision, operations, activations, casts, fusions, and the expected saving.",
            "The model isn't trained, and its file isn't changed."
        })
public final class PlanCommand implements Callable<Integer> {
    /** The value of {@code --json} that stands for standard output. */
    private static final Path STANDARD_OUTPUT = Path.of("-");

    @Parameters(
            paramLabel = "MODEL.zip",
            description = "A MultiLayerNetwork or ComputationGraph that DL4J or dl4j-amp has saved.")
    private Path file;

    @Option(
            names = "--input",
            paramLabel = "SIZES",
            description = {
                "Size of an input, once for each input: 3,224,224 (channels, height, width),",
                "784 (values) or 77,50 (values, time steps). Needed for images."
            })
    private List<String> inputs = List.of();

    @Option(
            names = "--batch",
            defaultValue = "1",
            paramLabel = "N",
            description = "Number of examples of operations and bytes (default: ${DEFAULT-VALUE}).")
    private int batch;

    @Option(
            names = "--timesteps",
            defaultValue = "" + PlanMaker.DEFAULT_TIMESTEPS,
            paramLabel = "N",
            description = "Time steps of sequences whose length isn't given (default: ${DEFAULT-VALUE}).")
    private int timesteps;

    @Mixin
    private PrecisionOptions precisionOptions;

    @Mixin
    private RuleOptions rules;

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write the plan as JSON; - prints it.")
    private Path json;

    @Option(names = "--svg", paramLabel = "FILE", description = "Where to write a drawing of the plan as SVG.")
    private Path svg;

    @Option(names = "--png", paramLabel = "FILE", description = "Where to write a drawing of the plan as PNG.")
    private Path png;

    @Option(names = "--verbose", description = "Shows the stack trace of an error.")
    private boolean verbose;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        requireUsable();
        NetworkPlan plan;
        Optional<AmpConfig> saved;
        try {
            Model model = ModelFile.read(file);
            saved = ModelFile.settings(file, model);
            AmpConfig config = rules.in(precisionOptions.in(
                    saved.orElseGet(AmpConfig::defaults), spec.commandLine().getParseResult()));
            plan = new PlanMaker()
                    .batch(batch)
                    .timesteps(timesteps)
                    .inputs(inputs)
                    .plan(model, config);
        } catch (AmpException e) {
            throw new BadInputException(e, verbose);
        }
        write(plan);
        if (!STANDARD_OUTPUT.equals(json)) {
            print(plan, saved);
        }
        return ExitCode.OK;
    }

    private void requireUsable() {
        requireAtLeastOne("--batch", batch);
        requireAtLeastOne("--timesteps", timesteps);
        CommandFiles files = new CommandFiles(spec.commandLine());
        files.reads(file);
        files.writes("--json", STANDARD_OUTPUT.equals(json) ? null : json);
        files.writes("--svg", svg);
        files.writes("--png", png);
    }

    private void requireAtLeastOne(String option, int value) {
        if (value < 1) {
            throw new ParameterException(spec.commandLine(), option + " " + value + ": must be at least 1");
        }
    }

    private void write(NetworkPlan plan) throws IOException {
        if (STANDARD_OUTPUT.equals(json)) {
            spec.commandLine().getOut().print(OutputFile.json(plan));
            spec.commandLine().getOut().flush();
        } else {
            OutputFile.writeJson(spec.commandLine(), json, plan);
        }
        if (svg != null || png != null) {
            PlanDrawing drawing = new PlanDrawing(plan, file.getFileName().toString());
            byte[] text = drawing.svg().getBytes(StandardCharsets.UTF_8);
            OutputFile.write(spec.commandLine(), "--svg", svg, text);
            OutputFile.write(spec.commandLine(), "--png", png, png == null ? null : drawing.png());
        }
    }

    private void print(NetworkPlan plan, Optional<AmpConfig> saved) {
        spec.commandLine().getOut().print(PlanTable.of(plan, file.toString()));
        saved.ifPresent(
                config -> spec.commandLine().getOut().println("Settings that were saved with the model: " + config));
        spec.commandLine().getOut().flush();
    }
}
