package org.dl4jamp.benchmarks.blueprint;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A blueprint with its numbers, which a process with DL4J passes to one with another framework.
 *
 * @param blueprint the network
 * @param tensors initial weights and batch
 */
public record Model(Blueprint blueprint, Tensors tensors) {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    private static final String BLUEPRINT = "blueprint.json";
    private static final String TENSORS = "tensors.bin";

    /** Writes two files into a folder that exists. */
    public void write(Path folder) throws IOException {
        JSON.writeValue(folder.resolve(BLUEPRINT).toFile(), blueprint);
        tensors.write(folder.resolve(TENSORS));
    }

    /** Reads what {@link #write} wrote; the folder has to stay as long as tensors are read. */
    public static Model read(Path folder) throws IOException {
        return new Model(readBlueprint(folder), Tensors.read(folder.resolve(TENSORS)));
    }

    /** Reads the blueprint alone. */
    public static Blueprint readBlueprint(Path folder) throws IOException {
        return JSON.readValue(folder.resolve(BLUEPRINT).toFile(), Blueprint.class);
    }
}
