package org.dl4jamp.checkpoint;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The zip that DL4J's {@link ModelSerializer} writes, with additional entries, in one go. DL4J's method ends the zip
 * itself, and an entry that's added afterwards costs a second copy of the zip. The entries are DL4J's, byte by byte and
 * in its order.
 */
public final class ModelZip {
    private ModelZip() {}

    /**
     * Writes a network, and leaves the stream open.
     *
     * @param more entries after DL4J's, by name
     * @param arrays arrays after these, by name
     */
    static void write(
            Model model,
            boolean saveUpdater,
            Map<String, byte[]> more,
            Map<String, INDArray> arrays,
            OutputStream stream)
            throws IOException {
        ZipOutputStream zip = new ZipOutputStream(stream);
        zip.putNextEntry(new ZipEntry(ModelSerializer.CONFIGURATION_JSON));
        // DL4J writes and reads it in the platform's charset.
        zip.write(configuration(model).getBytes(Charset.defaultCharset()));
        zip.putNextEntry(new ZipEntry(ModelSerializer.COEFFICIENTS_BIN));
        INDArray parameters = model.params();
        if (parameters == null) {
            zip.putNextEntry(new ZipEntry(ModelSerializer.NO_PARAMS_MARKER));
        } else {
            write(parameters, zip);
        }
        INDArray updaterState = saveUpdater ? updaterState(model) : null;
        if (updaterState != null && updaterState.length() > 0) {
            zip.putNextEntry(new ZipEntry(ModelSerializer.UPDATER_BIN));
            write(updaterState, zip);
        }
        for (Map.Entry<String, byte[]> entry : more.entrySet()) {
            zip.putNextEntry(new ZipEntry(entry.getKey()));
            zip.write(entry.getValue());
        }
        for (Map.Entry<String, INDArray> entry : arrays.entrySet()) {
            zip.putNextEntry(new ZipEntry(entry.getKey()));
            write(entry.getValue(), zip);
        }
        zip.finish();
        zip.flush();
    }

    private static void write(INDArray array, OutputStream stream) throws IOException {
        DataOutputStream numbers = new DataOutputStream(new BufferedOutputStream(stream));
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
