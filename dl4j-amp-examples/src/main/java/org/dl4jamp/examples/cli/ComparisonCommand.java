package org.dl4jamp.examples.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.deeplearning4j.nn.api.NeuralNetwork;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that trains in a precision of the user's choice, and writes figures as JSON where {@code --json} says. */
public abstract class ComparisonCommand implements Callable<Integer> {
    @Option(names = "--json", paramLabel = "FILE", description = "Where to write the figures, as JSON.")
    private Path json;

    @Mixin
    private PrecisionOptions precisionOptions;

    @Spec
    private CommandSpec spec;

    /** Returns the command line that this command was called on. */
    protected final CommandLine commandLine() {
        return spec.commandLine();
    }

    /** Returns the writer of the command's results. */
    protected final PrintWriter out() {
        return commandLine().getOut();
    }

    /** Returns the file of {@code --json}, or null if the option wasn't given. */
    protected final Path json() {
        return json;
    }

    /** Returns the error of a wrong option. */
    protected final ParameterException wrong(String message) {
        return new ParameterException(commandLine(), message);
    }

    /**
     * Refuses a number that is too small.
     *
     * @throws ParameterException if the value is less than {@code least}
     */
    protected final void requireAtLeast(String option, int value, int least) {
        if (value < least) {
            throw wrong(option + " " + value + ": must be at least " + least);
        }
    }

    /**
     * Refuses two options that name the same file. Files may be null.
     *
     * @throws ParameterException if they do
     */
    protected final void requireOther(String option, Path file, String otherOption, Path otherFile) {
        if (file != null
                && otherFile != null
                && file.toAbsolutePath()
                        .normalize()
                        .equals(otherFile.toAbsolutePath().normalize())) {
            throw wrong(option + " " + file + ": must be another file than that of " + otherOption);
        }
    }

    /** Refuses a file of {@code --json} that can't be written, so that no training is done in vain. */
    protected final void requireWritableJson() {
        OutputFile.requireWritable(commandLine(), "--json", json);
    }

    /** Returns the precision and the engine of a network; see {@link PrecisionOptions#choose}. */
    protected final PrecisionOptions.Choice choose(NeuralNetwork network) {
        return precisionOptions.choose(commandLine(), network);
    }

    /** Prints a choice's note below an empty line, if there is a note, and flushes the output. */
    protected final void printNote(PrecisionOptions.Choice choice) {
        if (!choice.note().isEmpty()) {
            out().println();
            out().println(choice.note());
        }
        out().flush();
    }

    /**
     * Writes figures into the file of {@code --json}, if that was given.
     *
     * @param figures a record, or anything else that Jackson can write
     */
    protected final void writeJson(Object figures) throws IOException {
        OutputFile.writeJson(commandLine(), json, figures);
    }
}
