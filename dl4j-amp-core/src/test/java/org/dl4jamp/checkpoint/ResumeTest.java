package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.Configs;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Training goes on in another process as if it had not been interrupted. */
class ResumeTest {
    private static final int HALFWAY = 10;

    @TempDir
    private Path folder;

    /** The scale grows within the first half and within the second, and starts so high that steps are skipped. */
    private static AmpConfig config() {
        return Configs.half(DynamicLossScaler.builder()
                .initialScale(1 << 24)
                .growthInterval(4)
                .build());
    }

    private static DataSet batch(Model model, int iteration) {
        DataSet all = model instanceof ComputationGraph ? Networks.images(24, 3, 8, 3) : Networks.vectors(24, 20, 3);
        int start = iteration % 3 * 8;
        return all.getRange(start, start + 8).copy();
    }

    private static void train(Model model, int from, int to) {
        for (int i = from; i < to; i++) {
            if (model instanceof ComputationGraph graph) {
                graph.fit(batch(model, i));
            } else {
                ((MultiLayerNetwork) model).fit(batch(model, i));
            }
        }
    }

    private static INDArray updaterState(Model model) {
        return model instanceof ComputationGraph graph
                ? graph.getUpdater().getStateViewArray()
                : ((MultiLayerNetwork) model).getUpdater().getStateViewArray();
    }

    private static Model restore(File file, boolean graph) throws IOException {
        return graph
                ? AmpModelSerializer.restoreComputationGraph(file, true)
                : AmpModelSerializer.restoreMultiLayerNetwork(file, true);
    }

    /** Restores a model, trains it for the second half, and writes it again. */
    static final class SecondHalf {
        private SecondHalf() {}

        public static void main(String[] arguments) throws IOException {
            boolean graph = Boolean.parseBoolean(arguments[0]);
            Model model = restore(new File(arguments[1]), graph);
            train(model, HALFWAY, 2 * HALFWAY);
            AmpModelSerializer.writeModel(model, new File(arguments[2]), true);
        }
    }

    private void assertResumes(Model model) throws Exception {
        boolean graph = model instanceof ComputationGraph;
        File half = folder.resolve("half.zip").toFile();
        File resumed = folder.resolve("resumed.zip").toFile();
        train(model, 0, HALFWAY);
        AmpModelSerializer.writeModel(model, half, true);
        runSecondHalf(graph, half, resumed);

        train(model, HALFWAY, 2 * HALFWAY);

        Model other = restore(resumed, graph);
        assertArrayEquals(model.params().toFloatVector(), other.params().toFloatVector());
        assertArrayEquals(
                updaterState(model).toFloatVector(), updaterState(other).toFloatVector());
        AmpState expected = MixedPrecision.of(model).orElseThrow().state();
        AmpState actual = MixedPrecision.of(other).orElseThrow().state();
        assertEquals(expected.scaler(), actual.scaler());
        assertEquals(expected.stepsTaken(), actual.stepsTaken());
        assertEquals(expected.stepsSkipped(), actual.stepsSkipped());
        assertEquals(2 * HALFWAY, actual.stepsTaken() + actual.stepsSkipped());
        assertTrue(actual.stepsSkipped() > 0, "some steps were skipped");
    }

    private void runSecondHalf(boolean graph, File half, File resumed) throws Exception {
        Path log = folder.resolve("log.txt");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        SecondHalf.class.getName(),
                        Boolean.toString(graph),
                        half.toString(),
                        resumed.toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(process.waitFor(2, TimeUnit.MINUTES), "the other process ends");
        assertEquals(0, process.exitValue(), Files.readString(log));
    }

    @Test
    void anMlpGoesOnBitForBitInANewProcess() throws Exception {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision.enable(network, config());
        assertResumes(network);
    }

    @Test
    void aGraphWithBatchNormGoesOnBitForBitInANewProcess() throws Exception {
        ComputationGraph graph = Networks.init(Networks.residual());
        MixedPrecision.enable(graph, config());
        assertResumes(graph);
    }
}
