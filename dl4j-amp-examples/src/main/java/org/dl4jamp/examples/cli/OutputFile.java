package org.dl4jamp.examples.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Files that commands write at their end and that must be known to be writable at their start. */
public final class OutputFile {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private OutputFile() {}

    /**
     * Refuses a file that can't be written, so that no training is done in vain.
     *
     * @param option the option that names the file, for the message
     * @param file the file, or null if the option wasn't given
     */
    public static void requireWritable(CommandLine command, String option, Path file) {
        if (file == null) {
            return;
        }
        boolean isNew = Files.notExists(file);
        try {
            Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)
                    .close();
            if (isNew) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new ParameterException(command, option + " " + file + ": can't be written (" + e + ")", e);
        }
    }

    /**
     * Writes figures as JSON.
     *
     * @param file where to, or null to write nothing
     * @param figures a record, or anything else that Jackson can write
     */
    public static void writeJson(Path file, Object figures) throws IOException {
        if (file != null) {
            Files.writeString(file, JSON.writeValueAsString(figures) + System.lineSeparator());
        }
    }
}
