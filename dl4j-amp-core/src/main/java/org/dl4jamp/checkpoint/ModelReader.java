package org.dl4jamp.checkpoint;

import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.zip.ZipException;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.precision.AmpException;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.dataset.api.preprocessor.Normalizer;

/**
 * Restores networks of one of DL4J's kinds, in mixed precision if they were when they were written. Internal: it may
 * change with any version.
 *
 * @param <N> the kind
 * @param network DL4J's call that restores a network
 * @param withNormalizer DL4J's call that restores its normalizer along with it
 * @param enable enables mixed precision
 */
// DL4J's own calls return a raw Normalizer.
@SuppressWarnings("rawtypes")
public record ModelReader<N extends Model>(
        Dl4jCall<N> network, Dl4jCall<Pair<N, Normalizer>> withNormalizer, BiConsumer<N, AmpState> enable) {
    /** Returns the reader of networks that are a sequence of layers. */
    public static ModelReader<MultiLayerNetwork> multiLayer(BiConsumer<MultiLayerNetwork, AmpState> enable) {
        return new ModelReader<>(
                ModelSerializer::restoreMultiLayerNetwork,
                ModelSerializer::restoreMultiLayerNetworkAndNormalizer,
                enable);
    }

    /** Returns the reader of graphs. */
    public static ModelReader<ComputationGraph> graph(BiConsumer<ComputationGraph, AmpState> enable) {
        return new ModelReader<>(
                ModelSerializer::restoreComputationGraph,
                ModelSerializer::restoreComputationGraphAndNormalizer,
                enable);
    }

    /** One of DL4J's calls that restore from a zip. */
    public interface Dl4jCall<R> {
        R from(File zip, boolean loadUpdater) throws IOException;
    }

    /** Such a call, with the choice whether to restore the updater's state already made. */
    interface Dl4jRestore<R> {
        R from(File zip) throws IOException;
    }

    public N read(File file, boolean loadUpdater) throws IOException {
        return restore(file, String.valueOf(file), zip -> network.from(zip, loadUpdater), enable);
    }

    /** Reads a stream to its end and closes it. */
    public N read(InputStream stream, boolean loadUpdater) throws IOException {
        return restore(stream, zip -> network.from(zip, loadUpdater), enable);
    }

    /** Returns a network and its normalizer, or null in place of that. */
    public Pair<N, Normalizer> readWithNormalizer(File file, boolean loadUpdater) throws IOException {
        return restore(file, String.valueOf(file), zip -> withNormalizer.from(zip, loadUpdater), this::enableFirst);
    }

    /** Reads a stream to its end and closes it. */
    public Pair<N, Normalizer> readWithNormalizer(InputStream stream, boolean loadUpdater) throws IOException {
        return restore(stream, zip -> withNormalizer.from(zip, loadUpdater), this::enableFirst);
    }

    private void enableFirst(Pair<N, Normalizer> restored, AmpState state) {
        enable.accept(restored.getFirst(), state);
    }

    /**
     * Restores something from a zip.
     *
     * @param source the zip's name in messages
     */
    static <R> R restore(File file, String source, Dl4jRestore<R> dl4j, BiConsumer<R, AmpState> enable)
            throws IOException {
        AmpException.ifNull(file, "file", "the file to read");
        // First, because it's quick: a file that can't be restored in mixed precision shall not cost reading a large
        // network.
        Optional<AmpState> state = AmpEntry.read(file.toPath(), source);
        R restored = restore(file, source, dl4j);
        state.ifPresent(present -> {
            try {
                enable.accept(restored, present);
            } catch (AmpException e) {
                throw new AmpException(AmpEntry.where(source) + ": " + e.getMessage(), e);
            }
        });
        return restored;
    }

    private static <R> R restore(File file, String source, Dl4jRestore<R> dl4j) throws IOException {
        try {
            return dl4j.from(file);
        } catch (ZipException | EOFException | RuntimeException e) {
            // DL4J doesn't say which of a program's files it's about.
            throw new AmpException(
                    source + ": corrupt, or a model of another kind (DL4J: " + AmpException.quote(e)
                            + "); restore from another copy, or with the call for its kind",
                    e);
        }
    }

    private static <R> R restore(InputStream stream, Dl4jRestore<R> dl4j, BiConsumer<R, AmpState> enable)
            throws IOException {
        AmpException.ifNull(stream, "stream", "the stream to read");
        Path temporary = Files.createTempFile("dl4j-amp", ".zip");
        try (stream) {
            Files.copy(stream, temporary, StandardCopyOption.REPLACE_EXISTING);
            return restore(temporary.toFile(), "the stream", dl4j, enable);
        } finally {
            Files.delete(temporary);
        }
    }
}
