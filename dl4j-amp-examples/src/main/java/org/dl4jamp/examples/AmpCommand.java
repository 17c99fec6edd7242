package org.dl4jamp.examples;

import java.io.PrintWriter;
import java.util.List;
import org.dl4jamp.examples.cli.BadInputException;
import org.dl4jamp.examples.digits.DigitsCommand;
import org.dl4jamp.examples.digits.ParallelCommand;
import org.dl4jamp.examples.feature.ExampleCommand;
import org.dl4jamp.examples.inspect.CompareCommand;
import org.dl4jamp.examples.inspect.DoctorCommand;
import org.dl4jamp.examples.inspect.PlanCommand;
import org.dl4jamp.examples.sine.SineCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line {@code amp}. Exit codes: 0 when all went well, 1 for a failure, 2 for wrong usage. */
@Command(
        name = "amp",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        description = "Trains networks in FP32 and in mixed precision, side by side, and shows what dl4j-amp does.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            SineCommand.class,
            DigitsCommand.class,
            ParallelCommand.class,
            ExampleCommand.class,
            DoctorCommand.class,
            PlanCommand.class,
            CompareCommand.class,
        },
        footer = {
            "",
            "'amp bench' is the benchmark against DL4J, PyTorch and oneDNN alone; the launcher builds it with the"
                    + " profile benchmarks.",
            "'amp spark' trains on a Spark cluster on this machine; the launcher builds it with the profile spark.",
            "Exit codes: 0 success, 1 failure, 2 wrong usage.",
            "'amp COMMAND --help' explains a command."
        })
public final class AmpCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    /** Runs a command and ends the JVM with its exit code. */
    public static void main(String[] args) {
        System.setProperty("java.awt.headless", "true");
        System.exit(commandLine().execute(args));
    }

    /** Runs a command line and returns its exit code, for programs and tests. */
    public static CommandLine commandLine() {
        return commandLine(new AmpCommand());
    }

    /** Returns the command line of a command, with the messages and exit codes of {@code amp}. */
    public static CommandLine commandLine(Object command) {
        return new CommandLine(command)
                .setUsageHelpAutoWidth(true)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler(AmpCommand::wrongUsage)
                .setExecutionExceptionHandler(AmpCommand::failure);
    }

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "a command is needed: " + String.join(", ", spec.subcommands().keySet()) + ", bench or spark");
    }

    private static int wrongUsage(ParameterException error, String[] args) {
        CommandLine command = error.getCommandLine();
        PrintWriter err = command.getErr();
        err.println("amp: " + error.getMessage());
        UnmatchedArgumentException.printSuggestions(error, err);
        if (error.getCause() != null && List.of(args).contains("--verbose")) {
            error.printStackTrace(err);
        }
        err.println("'" + command.getCommandSpec().qualifiedName() + " --help' shows what is allowed.");
        return ExitCode.USAGE;
    }

    private static int failure(Exception error, CommandLine command, CommandLine.ParseResult parsed) {
        if (error instanceof BadInputException input) {
            command.getErr().println("amp: " + input.getMessage());
            if (input.isVerbose()) {
                input.printStackTrace(command.getErr());
            }
            return ExitCode.USAGE;
        }
        command.getErr().print("amp: ");
        error.printStackTrace(command.getErr());
        return ExitCode.SOFTWARE;
    }
}
