package org.dl4jamp.examples.inspect;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.dl4jamp.examples.cli.OutputFile;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** The files that a command reads and writes, no two of which may be the same. */
final class CommandFiles {
    private final CommandLine command;
    private final List<Path> taken = new ArrayList<>();

    CommandFiles(CommandLine command) {
        this.command = command;
    }

    /** Takes note of a file that is read; null if there is none. */
    void reads(Path input) {
        if (input != null) {
            taken.add(absolute(input));
        }
    }

    /**
     * Takes note of a file that is written; null if there is none.
     *
     * @throws ParameterException if it can't be written, or is a file of the command already
     */
    void writes(String option, Path output) {
        if (output == null) {
            return;
        }
        if (taken.contains(absolute(output))) {
            throw new ParameterException(
                    command, option + " " + output + ": must be another file than the inputs and the other outputs");
        }
        taken.add(absolute(output));
        OutputFile.requireWritable(command, option, output);
    }

    private static Path absolute(Path file) {
        return file.toAbsolutePath().normalize();
    }
}
