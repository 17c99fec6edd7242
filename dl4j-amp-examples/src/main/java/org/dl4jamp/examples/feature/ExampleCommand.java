package org.dl4jamp.examples.feature;

import java.io.PrintWriter;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.cli.ComparisonCommand;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.nd4j.linalg.learning.config.Sgd;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code amp example}: runs an example, and prints whether its figures are as claimed. */
@Command(
        name = "example",
        mixinStandardHelpOptions = true,
        description = {
            "Shows one feature by a training that takes seconds, and checks its figures.",
            "Each example is a class of less than 80 lines in dl4j-amp-examples, package org.dl4jamp.examples.feature."
        })
public final class ExampleCommand extends ComparisonCommand {
    @Parameters(arity = "0..1", paramLabel = "NAME", description = "Which one; --list shows them.")
    private String name;

    @Option(names = "--list", description = "Names all examples and what they show.")
    private boolean list;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        if (list) {
            Examples.ALL.forEach(each -> out.printf("%-18s %s%n", each.name(), each.what()));
            return ExitCode.OK;
        }
        Examples chosen = chosen();
        requireWritableJson();
        PrecisionOptions.Choice choice = choose(DigitsTask.dense(new Sgd(0.1)));
        out.printf("%s: %s. Here in %s.%n%n", chosen.name(), chosen.what(), choice.what());
        Report report = new Report(out);
        chosen.example().show(AmpConfig.builder().precision(choice.precision()).engine(choice.engine()), report);
        out.flush();
        writeJson(report.claims());
        return report.claims().stream().allMatch(Report.Claim::holds) ? ExitCode.OK : ExitCode.SOFTWARE;
    }

    private Examples chosen() {
        if (name == null) {
            throw wrong("the name of an example is needed; --list shows them");
        }
        return Examples.of(name).orElseThrow(() -> wrong("there is no example \"" + name + "\"; --list shows them"));
    }
}
