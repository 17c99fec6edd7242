package org.dl4jamp.checkpoint;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.gradient.WaitingGroup;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.preprocessor.DataNormalization;
import org.nd4j.linalg.dataset.api.preprocessor.serializer.NormalizerSerializer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Writes the zip that DL4J's {@link ModelSerializer} writes, with the entries of mixed precision, in one go. DL4J's
 * method ends the zip itself, and an entry that's added afterwards costs a second copy of the zip. DL4J's entries are
 * the same byte by byte and in its order. Internal: it may change with any version.
 */
public final class ModelWriter {
    /** The entry that holds the {@link AmpState} as JSON. */
    static final String STATE = "amp.json";
    /** The entry with gradients that wait for more, in the form in which DL4J writes parameters. */
    static final String GRADIENTS = "ampGradients.bin";

    private ModelWriter() {}

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
            Model model,
            Optional<AmpState> state,
            OutputStream stream,
            boolean saveUpdater,
            DataNormalization normalizer)
            throws IOException {
        AmpException.ifNull(stream, "stream", "the stream to write to");
        zip(model, saveUpdater, entriesBeside(state, normalizer), state, stream);
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
}
