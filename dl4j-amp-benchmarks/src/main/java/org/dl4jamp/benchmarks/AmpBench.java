package org.dl4jamp.benchmarks;

import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.ParameterException;

/** The part of the command line {@code amp} that is built with the profile benchmarks. */
@Command(name = "amp", subcommands = BenchCommand.class)
public final class AmpBench {
    private AmpBench() {}

    /** Runs {@code bench} with its options and ends the JVM with its exit code. */
    public static void main(String[] args) {
        System.setProperty("java.awt.headless", "true");
        System.exit(commandLine().execute(args));
    }

    /** Runs a command line and returns its exit code, for programs and tests. */
    public static CommandLine commandLine() {
        return new CommandLine(new AmpBench())
                .setUsageHelpAutoWidth(true)
                .setParameterExceptionHandler(AmpBench::wrongUsage)
                .setExecutionExceptionHandler(AmpBench::failure);
    }

    private static int wrongUsage(ParameterException error, String[] args) {
        PrintWriter err = error.getCommandLine().getErr();
        err.println("amp: " + error.getMessage());
        err.println("'amp bench --help' shows what is allowed.");
        return ExitCode.USAGE;
    }

    private static int failure(Exception error, CommandLine command, CommandLine.ParseResult parsed) {
        command.getErr().println("amp: " + error);
        for (StackTraceElement element : error.getStackTrace()) {
            command.getErr().println("    at " + element);
        }
        return ExitCode.SOFTWARE;
    }
}
