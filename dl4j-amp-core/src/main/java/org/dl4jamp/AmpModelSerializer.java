package org.dl4jamp;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.checkpoint.ModelZip;
import org.dl4jamp.precision.AmpException;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.dataset.api.preprocessor.DataNormalization;
import org.nd4j.linalg.dataset.api.preprocessor.Normalizer;

/**
 * DL4J's {@link ModelSerializer} for networks in mixed precision: the same calls and the same zip. One more entry,
 * {@code amp.json}, holds the settings, the state of the loss scaler and the counters. Training goes on after restoring
 * as if it had not been interrupted.
 *
 * <pre>
 * AmpModelSerializer.writeModel(net, new File("model.zip"), true);
 * MultiLayerNetwork net = AmpModelSerializer.restoreMultiLayerNetwork(new File("model.zip"));
 * MixedPrecision amp = MixedPrecision.of(net).orElseThrow();       // enabled if it was when the network was written
 * </pre>
 *
 * <p>Where gradients of micro-batches wait for more to make a step of, they are an entry of their own,
 * {@code ampGradients.bin}.
 *
 * <p>The zip is an ordinary DL4J model: {@link ModelSerializer} and programs without dl4j-amp read it and ignore the
 * entry. Its calls that add a normalizer or an object to a file keep the entry. A network without mixed precision is
 * written and restored without the entry.
 *
 * <p>Files are replaced atomically: whatever fails while writing, the old file is still there and whole. The new one is
 * written beside it, with a name that begins with a dot and ends in {@code .unfinished}, and renamed when it's
 * complete. A killed save leaves that file behind; the next save to the same place removes it. Symbolic links stay,
 * with the model in the file that they point to; a hard link gets a file of its own. Pipes and devices are written
 * straight, as DL4J does.
 */
// DL4J's own calls return a raw Normalizer.
@SuppressWarnings("rawtypes")
public final class AmpModelSerializer {
    private AmpModelSerializer() {}

    /** As {@link #writeModel(Model, File, boolean, DataNormalization)}, without a normalizer. */
    public static void writeModel(Model model, File file, boolean saveUpdater) throws IOException {
        writeModel(model, file, saveUpdater, null);
    }

    /** As {@link #writeModel(Model, File, boolean, DataNormalization)}, without a normalizer. */
    public static void writeModel(Model model, String path, boolean saveUpdater) throws IOException {
        writeModel(model, file(path), saveUpdater, null);
    }

    /**
     * Writes a network to a file, atomically.
     *
     * @param model a {@link MultiLayerNetwork} or {@link ComputationGraph}
     * @param file the file to make or replace, or a link to it, or a pipe or device to write to
     * @param saveUpdater whether to save the updater's state, which going on with training needs
     * @param normalizer normalizes the network's features, or null
     * @throws IOException if the file can't be written; an older one is then as it was
     * @throws AmpException if the settings hold something that can't be written: a rule by predicate or a user-written
     *     loss scaler
     */
    public static void writeModel(Model model, File file, boolean saveUpdater, DataNormalization normalizer)
            throws IOException {
        ModelZip.write(model, stateOf(model), file, saveUpdater, normalizer);
    }

    /** As {@link #writeModel(Model, OutputStream, boolean, DataNormalization)}, without a normalizer. */
    public static void writeModel(Model model, OutputStream stream, boolean saveUpdater) throws IOException {
        writeModel(model, stream, saveUpdater, null);
    }

    /**
     * As {@link #writeModel(Model, File, boolean, DataNormalization)}, to a stream, which is left open. If that fails,
     * a part of the zip may have been written.
     */
    public static void writeModel(Model model, OutputStream stream, boolean saveUpdater, DataNormalization normalizer)
            throws IOException {
        ModelZip.write(model, stateOf(model), stream, saveUpdater, normalizer);
    }

    private static void enable(Pair<? extends Model, Normalizer> restored, AmpState state) {
        MixedPrecision.enable(restored.getFirst(), state);
    }

    private static File file(String path) {
        return new File(AmpException.ifNull(path, "path", "the path of a file"));
    }

    private static Optional<AmpState> stateOf(Model model) {
        AmpException.ifNull(model, "model", "a MultiLayerNetwork or a ComputationGraph");
        return MixedPrecision.of(model).map(MixedPrecision::state);
    }

    /** As {@link #restoreMultiLayerNetwork(File, boolean)}, with the updater's state. */
    public static MultiLayerNetwork restoreMultiLayerNetwork(File file) throws IOException {
        return restoreMultiLayerNetwork(file, true);
    }

    /** As {@link #restoreMultiLayerNetwork(File, boolean)}, with the updater's state. */
    public static MultiLayerNetwork restoreMultiLayerNetwork(String path) throws IOException {
        return restoreMultiLayerNetwork(file(path), true);
    }

    /** As {@link #restoreMultiLayerNetwork(File, boolean)}. */
    public static MultiLayerNetwork restoreMultiLayerNetwork(String path, boolean loadUpdater) throws IOException {
        return restoreMultiLayerNetwork(file(path), loadUpdater);
    }

    /**
     * Restores a network, in mixed precision if it was when it was written.
     *
     * @param loadUpdater whether to restore the updater's state, if it was saved
     * @throws AmpException if the file is no zip or not of such a network, or its entry {@code amp.json} is truncated,
     *     corrupt, larger than 1 MB or newer than this dl4j-amp
     */
    public static MultiLayerNetwork restoreMultiLayerNetwork(File file, boolean loadUpdater) throws IOException {
        return ModelZip.read(file, loadUpdater, ModelSerializer::restoreMultiLayerNetwork, MixedPrecision::enable);
    }

    /** As {@link #restoreMultiLayerNetwork(InputStream, boolean)}, with the updater's state. */
    public static MultiLayerNetwork restoreMultiLayerNetwork(InputStream stream) throws IOException {
        return restoreMultiLayerNetwork(stream, true);
    }

    /** As {@link #restoreMultiLayerNetwork(File, boolean)}, from a stream that is read to its end and closed. */
    public static MultiLayerNetwork restoreMultiLayerNetwork(InputStream stream, boolean loadUpdater)
            throws IOException {
        return ModelZip.read(stream, loadUpdater, ModelSerializer::restoreMultiLayerNetwork, MixedPrecision::enable);
    }

    /** As {@link #restoreMultiLayerNetwork(File, boolean)}, with the normalizer that was saved, or null. */
    public static Pair<MultiLayerNetwork, Normalizer> restoreMultiLayerNetworkAndNormalizer(
            File file, boolean loadUpdater) throws IOException {
        return ModelZip.read(
                file, loadUpdater, ModelSerializer::restoreMultiLayerNetworkAndNormalizer, AmpModelSerializer::enable);
    }

    /**
     * As {@link #restoreMultiLayerNetworkAndNormalizer(File, boolean)}, from a stream that is read to its end and
     * closed.
     */
    public static Pair<MultiLayerNetwork, Normalizer> restoreMultiLayerNetworkAndNormalizer(
            InputStream stream, boolean loadUpdater) throws IOException {
        return ModelZip.read(
                stream,
                loadUpdater,
                ModelSerializer::restoreMultiLayerNetworkAndNormalizer,
                AmpModelSerializer::enable);
    }

    /** As {@link #restoreComputationGraph(File, boolean)}, with the updater's state. */
    public static ComputationGraph restoreComputationGraph(File file) throws IOException {
        return restoreComputationGraph(file, true);
    }

    /** As {@link #restoreComputationGraph(File, boolean)}, with the updater's state. */
    public static ComputationGraph restoreComputationGraph(String path) throws IOException {
        return restoreComputationGraph(file(path), true);
    }

    /** As {@link #restoreComputationGraph(File, boolean)}. */
    public static ComputationGraph restoreComputationGraph(String path, boolean loadUpdater) throws IOException {
        return restoreComputationGraph(file(path), loadUpdater);
    }

    /** As {@link #restoreMultiLayerNetwork(File, boolean)}, for a graph. */
    public static ComputationGraph restoreComputationGraph(File file, boolean loadUpdater) throws IOException {
        return ModelZip.read(file, loadUpdater, ModelSerializer::restoreComputationGraph, MixedPrecision::enable);
    }

    /** As {@link #restoreComputationGraph(InputStream, boolean)}, with the updater's state. */
    public static ComputationGraph restoreComputationGraph(InputStream stream) throws IOException {
        return restoreComputationGraph(stream, true);
    }

    /** As {@link #restoreComputationGraph(File, boolean)}, from a stream that is read to its end and closed. */
    public static ComputationGraph restoreComputationGraph(InputStream stream, boolean loadUpdater) throws IOException {
        return ModelZip.read(stream, loadUpdater, ModelSerializer::restoreComputationGraph, MixedPrecision::enable);
    }

    /** As {@link #restoreComputationGraph(File, boolean)}, with the normalizer that was saved, or null. */
    public static Pair<ComputationGraph, Normalizer> restoreComputationGraphAndNormalizer(
            File file, boolean loadUpdater) throws IOException {
        return ModelZip.read(
                file, loadUpdater, ModelSerializer::restoreComputationGraphAndNormalizer, AmpModelSerializer::enable);
    }

    /**
     * As {@link #restoreComputationGraphAndNormalizer(File, boolean)}, from a stream that is read to its end and
     * closed.
     */
    public static Pair<ComputationGraph, Normalizer> restoreComputationGraphAndNormalizer(
            InputStream stream, boolean loadUpdater) throws IOException {
        return ModelZip.read(
                stream, loadUpdater, ModelSerializer::restoreComputationGraphAndNormalizer, AmpModelSerializer::enable);
    }
}
