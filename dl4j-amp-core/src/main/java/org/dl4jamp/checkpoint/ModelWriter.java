package org.dl4jamp.checkpoint;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.preprocessor.DataNormalization;
import org.nd4j.linalg.dataset.api.preprocessor.serializer.NormalizerSerializer;

/** Writes DL4J's model zips with the entries of mixed precision. Internal: it may change with any version. */
public final class ModelWriter {
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
        AtomicFile.write(file.toPath(), stream -> ModelZip.write(model, saveUpdater, more, gradients(state), stream));
    }

    /**
     * Writes a network to a stream, which is left open.
     *
     * @param state empty for a network without mixed precision
     * @param normalizer may be null
     */
    public static void write(
            Model model,
            Optional<AmpState> state,
            OutputStream stream,
            boolean saveUpdater,
            DataNormalization normalizer)
            throws IOException {
        AmpException.ifNull(stream, "stream", "the stream to write to");
        ModelZip.write(model, saveUpdater, entriesBeside(state, normalizer), gradients(state), stream);
    }

    private static Map<String, INDArray> gradients(Optional<AmpState> state) {
        return state.flatMap(AmpState::waiting)
                .flatMap(WaitingGradients::sums)
                .map(sums -> Map.of(GradientsEntry.NAME, sums))
                .orElseGet(Map::of);
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
        state.ifPresent(present -> entries.put(AmpEntry.NAME, present.toJson()));
        return entries;
    }
}
