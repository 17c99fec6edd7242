package org.dl4jamp.checkpoint;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.config.JsonFields;
import org.dl4jamp.gradient.GradientGroup.WaitingGroup;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.preprocessor.DataNormalization;
import org.nd4j.linalg.dataset.api.preprocessor.serializer.NormalizerSerializer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * DL4J's model zip with the entries of mixed precision. DL4J's own entries are the same byte by byte and in its order,
 * but written in one go. Its {@link ModelSerializer} ends the zip itself, and an entry that's added afterwards costs a
 * second copy of the zip. Internal: it may change with any version.
 */
public final class ModelZip {
    /** The entry that holds the {@link AmpState} as JSON. */
    static final String STATE = "amp.json";
    /** The entry with gradients that wait for more, in the form in which DL4J writes parameters. */
    static final String GRADIENTS = "ampGradients.bin";

    private ModelZip() {}

    /**
     * Writes a network to a file, atomically.
     *
     * @param state empty for a network without mixed precision
     * @param normalizer may be null
     */
    public static void write(
            Model model, Optional<AmpState> state, File file, boolean saveUpdater, DataNormalization normalizer)
            throws IOException {
        AmpException.ifNull(file, "file", "the file to write to");
        Map<String, byte[]> more = entriesBeside(state, normalizer);
        AtomicFile.write(file.toPath(), stream -> zip(model, saveUpdater, more, state, stream));
    }

    /** As {@link #write(Model, Optional, File, boolean, DataNormalization)}, to a stream, which is left open. */
    public static void write(
            Model model, Optional<AmpState> state, OutputStream out, boolean saveUpdater, DataNormalization normalizer)
            throws IOException {
        AmpException.ifNull(out, "stream", "the stream to write to");
        zip(model, saveUpdater, entriesBeside(state, normalizer), state, out);
    }

    private static Map<String, byte[]> entriesBeside(Optional<AmpState> state, DataNormalization normalizer)
            throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        if (normalizer != null) {
            // DL4J's ModelSerializer fails when it's given a normalizer ("stream is closed"): the serializer closes its
            // zip too early.
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            NormalizerSerializer.getDefault().write(normalizer, bytes);
            entries.put(ModelSerializer.NORMALIZER_BIN, bytes.toByteArray());
        }
        state.ifPresent(present -> entries.put(STATE, present.toJson()));
        return entries;
    }

    /** Writes DL4J's entries, {@code more} and the state's gradients, and leaves the stream open. */
    static void zip(
            Model model, boolean saveUpdater, Map<String, byte[]> more, Optional<AmpState> state, OutputStream stream)
            throws IOException {
        ZipOutputStream zip = new ZipOutputStream(stream);
        zip.putNextEntry(new ZipEntry(ModelSerializer.CONFIGURATION_JSON));
        // DL4J writes and reads it in the platform's charset.
        zip.write(configuration(model).getBytes(Charset.defaultCharset()));
        if (model.params() == null) {
            zip.putNextEntry(new ZipEntry(ModelSerializer.COEFFICIENTS_BIN));
            zip.putNextEntry(new ZipEntry(ModelSerializer.NO_PARAMS_MARKER));
        } else {
            write(ModelSerializer.COEFFICIENTS_BIN, model.params(), zip);
        }
        INDArray updaterState = saveUpdater ? updaterState(model) : null;
        if (updaterState != null && updaterState.length() > 0) {
            write(ModelSerializer.UPDATER_BIN, updaterState, zip);
        }
        for (Map.Entry<String, byte[]> entry : more.entrySet()) {
            zip.putNextEntry(new ZipEntry(entry.getKey()));
            zip.write(entry.getValue());
        }
        Optional<INDArray> gradients = state.flatMap(AmpState::waiting).flatMap(WaitingGroup::sums);
        if (gradients.isPresent()) {
            write(GRADIENTS, gradients.get(), zip);
        }
        zip.finish();
        zip.flush();
    }

    private static void write(String entry, INDArray array, ZipOutputStream zip) throws IOException {
        zip.putNextEntry(new ZipEntry(entry));
        DataOutputStream numbers = new DataOutputStream(new BufferedOutputStream(zip));
        Nd4j.write(array, numbers);
        numbers.flush();
    }

    private static String configuration(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().toJson()
                : ((ComputationGraph) model).getConfiguration().toJson();
    }

    private static INDArray updaterState(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getUpdater().getStateViewArray()
                : ((ComputationGraph) model).getUpdater().getStateViewArray();
    }

    /** One of DL4J's calls that restore from a zip. */
    public interface Dl4jCall<R> {
        R from(File zip, boolean loadUpdater) throws IOException;
    }

    /**
     * Restores what is in a zip.
     *
     * @param loadUpdater whether the updater's state is restored, too
     * @param dl4j restores the network, or the network and more
     * @param enable enables mixed precision on it
     */
    public static <R> R read(File file, boolean loadUpdater, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable)
            throws IOException {
        AmpException.ifNull(file, "file", "the file to read");
        return read(file, file.toString(), loadUpdater, dl4j, enable);
    }

    /** As {@link #read(File, boolean, Dl4jCall, BiConsumer)}, from a stream that is read to its end and closed. */
    public static <R> R read(InputStream stream, boolean loadUpdater, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable)
            throws IOException {
        AmpException.ifNull(stream, "stream", "the stream to read");
        Path temporary = Files.createTempFile("dl4j-amp", ".zip");
        try (stream) {
            Files.copy(stream, temporary, StandardCopyOption.REPLACE_EXISTING);
            return read(temporary.toFile(), "the stream", loadUpdater, dl4j, enable);
        } finally {
            Files.delete(temporary);
        }
    }

    private static <R> R read(
            File file, String source, boolean loadUpdater, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable)
            throws IOException {
        // The state first, which takes little time: what can't be enabled shall not cost reading a large network.
        Optional<AmpState> state = state(file.toPath(), source);
        R restored;
        try {
            restored = dl4j.from(file, loadUpdater);
        } catch (ZipException | EOFException | RuntimeException e) {
            // DL4J doesn't say which of a program's files it's about.
            throw new AmpException(
                    source + ": corrupt, or a model of another kind (DL4J: " + AmpException.quote(e)
                            + "); restore from another copy, or with the call for its kind",
                    e);
        }
        try {
            state.ifPresent(present -> enable.accept(restored, present));
        } catch (AmpException e) {
            throw new AmpException(source + ", entry " + STATE + ": " + e.getMessage(), e);
        }
        return restored;
    }

    /**
     * Reads the entries of mixed precision; empty if there are none, in a model that DL4J wrote.
     *
     * @param source the zip's name in messages
     */
    public static Optional<AmpState> state(Path zip, String source) throws IOException {
        try (ZipFile file = new ZipFile(zip.toFile())) {
            ZipEntry entry = file.getEntry(STATE);
            if (entry == null) {
                return Optional.empty();
            }
            AmpState state = state(file, entry, source + ", entry " + STATE);
            boolean gradients =
                    state.waiting().stream().anyMatch(group -> group.skip().isEmpty());
            return Optional.of(gradients ? state.with(gradients(file, source + ", entry " + GRADIENTS)) : state);
        } catch (ZipException e) {
            throw unreadable(source, "truncated or not a model zip (" + e.getMessage() + ")", e);
        }
    }

    private static AmpState state(ZipFile file, ZipEntry entry, String where) throws IOException {
        CRC32 checksum = new CRC32();
        byte[] json;
        try (InputStream stream = new CheckedInputStream(file.getInputStream(entry), checksum)) {
            // The size in the zip's header may be wrong.
            json = stream.readNBytes(JsonFields.MOST_BYTES + 1);
        } catch (ZipException | EOFException e) {
            throw unreadable(where, "truncated or corrupt (" + AmpException.quote(e) + ")", e);
        }
        if (json.length > JsonFields.MOST_BYTES) {
            throw JsonFields.tooLarge(where);
        }
        if (checksum.getValue() != entry.getCrc()) {
            throw unreadable(where, "corrupt (its checksum is wrong)", null);
        }
        return AmpState.fromJson(json, where);
    }

    private static INDArray gradients(ZipFile zip, String where) {
        ZipEntry entry = zip.getEntry(GRADIENTS);
        if (entry == null) {
            throw unreadable(where, "it's missing, although " + STATE + " says that gradients wait for more", null);
        }
        CRC32 checksum = new CRC32();
        INDArray array;
        try (InputStream stream =
                new CheckedInputStream(new BufferedInputStream(zip.getInputStream(entry)), checksum)) {
            array = Nd4j.read(new DataInputStream(stream));
            stream.readAllBytes();
        } catch (IOException | RuntimeException e) {
            throw unreadable(where, "truncated or corrupt (" + AmpException.quote(e) + ")", e);
        }
        if (checksum.getValue() != entry.getCrc() || array.dataType() != DataType.FLOAT) {
            throw unreadable(where, "corrupt (its checksum or its type, " + array.dataType() + ", is wrong)", null);
        }
        return array.reshape(array.length());
    }

    private static AmpException unreadable(String where, String why, Exception cause) {
        return new AmpException(where + ": " + why + "; restore from another copy", cause);
    }
}
