package org.dl4jamp.examples.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.dl4jamp.checkpoint.AtomicFile;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Output files of commands, which are checked at the start and written at the end. */
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
            throw cannotWrite(command, option, file, e);
        }
    }

    /** Returns the error of a file that can't be written. */
    static ParameterException cannotWrite(CommandLine command, String option, Path file, Exception error) {
        return new ParameterException(command, option + " " + file + ": can't be written (" + error + ")", error);
    }

    /**
     * Writes a file, and refuses one that can't be written after all, such as on a full disk. The file is then as it
     * was.
     *
     * @param option the option that names the file, for the message
     * @param file where to, or null to write nothing
     * @throws ParameterException if it can't be written
     */
    public static void write(CommandLine command, String option, Path file, byte[] content) {
        if (file == null) {
            return;
        }
        try {
            AtomicFile.write(file, stream -> stream.write(content));
        } catch (IOException e) {
            throw cannotWrite(command, option, file, e);
        }
    }

    /**
     * Writes figures as JSON into the file of the option {@code --json}.
     *
     * @param file where to, or null to write nothing
     * @param figures a record, or anything else that Jackson can write
     * @throws ParameterException if the file can't be written
     */
    public static void writeJson(CommandLine command, Path file, Object figures) throws IOException {
        write(command, "--json", file, json(figures).getBytes(StandardCharsets.UTF_8));
    }

    /** Returns figures as JSON, with a line break at the end. */
    public static String json(Object figures) throws IOException {
        return JSON.writeValueAsString(figures) + System.lineSeparator();
    }
}
