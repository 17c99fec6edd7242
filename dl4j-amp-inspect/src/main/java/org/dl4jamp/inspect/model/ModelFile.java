package org.dl4jamp.inspect.model;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.checkpoint.ModelZip;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.CarriedConfig;
import org.dl4jamp.precision.AmpException;
import org.nd4j.common.config.ND4JClassLoading;
import org.nd4j.shade.jackson.core.JsonProcessingException;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;

/**
 * A saved model of DL4J: the zip that {@link ModelSerializer} or {@code AmpModelSerializer} writes. It's read and never
 * changed.
 */
public final class ModelFile {
    private static final byte[] ZIP = {'P', 'K', 3, 4};
    private static final String CLASS = "@class";

    private ModelFile() {}

    /**
     * Reads a network in FP32, without the updater's state, without mixed precision.
     *
     * @param file a zip of {@link ModelSerializer} or {@code AmpModelSerializer}
     * @return a {@link MultiLayerNetwork} or {@link ComputationGraph} with its parameters
     * @throws AmpException if there is no such file, it can't be read, it's no zip, it's cut off, it's no model of
     *     DL4J's, or classes of its layers are missing. The message is one line
     */
    public static Model read(Path file) {
        AmpException.ifNull(file, "file", "the zip of a saved model");
        requireZip(file);
        boolean graph = isGraph(configuration(file), file);
        try {
            return graph
                    ? ModelSerializer.restoreComputationGraph(file.toFile(), false)
                    : ModelSerializer.restoreMultiLayerNetwork(file.toFile(), false);
        } catch (LinkageError e) {
            throw new AmpException(
                    file + ": needs a class that is missing (" + oneLine(e) + "); add it to the class path", e);
        } catch (IOException | RuntimeException e) {
            throw new AmpException(
                    file + ": cut off, corrupt, or written by another version of DL4J (" + oneLine(e)
                            + "); save the model again",
                    e);
        }
    }

    /**
     * Reads the settings of mixed precision that were saved with a network: the state that {@code AmpModelSerializer}
     * wrote, or settings that the network's configuration carries.
     *
     * @param file the file that the model was read from
     * @param model what {@link #read} returned
     * @throws AmpException if the settings are corrupt, or of a newer version of dl4j-amp
     */
    public static Optional<AmpConfig> settings(Path file, Model model) {
        try {
            return ModelZip.state(file, file.toString()).map(AmpState::config).or(() -> CarriedConfig.of(model));
        } catch (IOException e) {
            throw new AmpException(file + ": can't be read (" + oneLine(e) + ")", e);
        }
    }

    private static void requireZip(Path file) {
        if (Files.isDirectory(file)) {
            throw new AmpException(file + ": a folder; give the zip of a saved model");
        }
        try (InputStream stream = Files.newInputStream(file)) {
            if (!Arrays.equals(stream.readNBytes(ZIP.length), ZIP)) {
                throw new AmpException(
                        file + ": no zip; give a model that DL4J's ModelSerializer or AmpModelSerializer has written");
            }
        } catch (NoSuchFileException e) {
            throw new AmpException(file + ": no such file; give the zip of a saved model", e);
        } catch (IOException e) {
            throw new AmpException(file + ": can't be read (" + oneLine(e) + ")", e);
        }
    }

    private static JsonNode configuration(Path file) {
        try (ZipFile zip = new ZipFile(file.toFile())) {
            ZipEntry entry = zip.getEntry(ModelSerializer.CONFIGURATION_JSON);
            if (entry == null) {
                throw new AmpException(file + ": no DL4J model: this zip has no entry "
                        + ModelSerializer.CONFIGURATION_JSON
                        + "; give a MultiLayerNetwork or ComputationGraph that ModelSerializer has written");
            }
            // DL4J writes and reads it in the platform's charset.
            String json = new String(zip.getInputStream(entry).readAllBytes(), Charset.defaultCharset());
            return new ObjectMapper().readTree(json);
        } catch (JsonProcessingException e) {
            throw noModel(file, "isn't JSON", e);
        } catch (ZipException e) {
            throw new AmpException(
                    file + ": a zip that is cut off or corrupt (" + oneLine(e) + "); save the model again", e);
        } catch (IOException e) {
            throw new AmpException(file + ": can't be read (" + oneLine(e) + ")", e);
        }
    }

    /** Returns whether it's the configuration of a graph; refuses what is no configuration of DL4J's. */
    private static boolean isGraph(JsonNode configuration, Path file) {
        boolean graph = configuration.has("vertices");
        if (!graph && !configuration.has("confs")) {
            throw noModel(file, "has neither the layers of a MultiLayerNetwork nor the vertices of a graph", null);
        }
        List<String> missing = configuration.findValuesAsText(CLASS).stream()
                .distinct()
                .filter(name -> !isThere(name))
                .toList();
        if (!missing.isEmpty()) {
            throw new AmpException(file + ": needs classes that are missing: " + String.join(", ", missing)
                    + "; add them to the class path");
        }
        return graph;
    }

    private static AmpException noModel(Path file, String why, Throwable cause) {
        return new AmpException(
                file + ": no DL4J model: its entry " + ModelSerializer.CONFIGURATION_JSON + " " + why
                        + "; give a MultiLayerNetwork or ComputationGraph that ModelSerializer has written",
                cause);
    }

    private static boolean isThere(String name) {
        try {
            Class.forName(name, false, ND4JClassLoading.getNd4jClassloader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            // LinkageError: it's there, and a class that it extends isn't.
            return false;
        }
    }

    private static String oneLine(Throwable error) {
        return AmpException.quote(error.toString().lines().findFirst().orElse(""));
    }
}
