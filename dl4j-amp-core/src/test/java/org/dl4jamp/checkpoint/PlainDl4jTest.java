package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.CarriedConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Whatever is written here is used by another JVM that has DL4J but not dl4j-amp on its class path. */
class PlainDl4jTest {
    @TempDir
    private Path folder;

    @Test
    void aProcessWithoutDl4jAmpReadsAndTrainsWhatWasWritten() throws Exception {
        AmpConfig config = AmpStateTest.STATE.config();
        MultiLayerConfiguration configuration = CarriedConfig.attach(SmallNetworks.dense(), config);
        ComputationGraphConfiguration graphConfiguration = CarriedConfig.attach(SmallNetworks.graph(), config);
        Files.writeString(folder.resolve("net.json"), configuration.toJson());
        Files.writeString(folder.resolve("graph.yaml"), graphConfiguration.toYaml());

        DataSet batch = SmallNetworks.batch(8, 4);
        MultiLayerNetwork net = Networks.init(configuration);
        net.fit(batch);
        ComputationGraph graph = Networks.init(graphConfiguration);
        graph.fit(batch);
        INDArray afterOneStep = net.params().dup();
        INDArray graphAfterOneStep = graph.params().dup();
        Optional<AmpState> state = Optional.of(AmpStateTest.STATE);
        ModelZip.write(net, state, folder.resolve("net.zip").toFile(), true, null);
        ModelZip.write(graph, state, folder.resolve("graph.zip").toFile(), true, null);
        net.fit(batch);
        graph.fit(batch);

        String expected = text(net.params()) + text(afterOneStep) + text(graph.params()) + text(graphAfterOneStep);
        assertEquals(expected, runWithoutDl4jAmp());
    }

    private static String text(INDArray parameters) {
        return Arrays.toString(parameters.toFloatVector()) + "\n";
    }

    private String runWithoutDl4jAmp() throws Exception {
        Path program = folder.resolve("PlainDl4j.java");
        try (InputStream source = PlainDl4jTest.class.getResourceAsStream("PlainDl4j.java")) {
            Files.copy(source, program);
        }
        Path written = folder.resolve("parameters.txt");
        Path log = folder.resolve("log.txt");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        classPathWithoutDl4jAmp(),
                        program.toString(),
                        folder.toString(),
                        written.toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(process.waitFor(5, TimeUnit.MINUTES), "the other JVM takes too long");
        assertEquals(0, process.exitValue(), () -> read(log));
        return Files.readString(written);
    }

    private static String classPathWithoutDl4jAmp() throws Exception {
        List<Path> ours = List.of(locationOf(AmpConfig.class), locationOf(PlainDl4jTest.class));
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return Arrays.stream(classPath.split(File.pathSeparator, -1))
                .filter(entry ->
                        !entry.isEmpty() && !ours.contains(Path.of(entry).toAbsolutePath()))
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static Path locationOf(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    private static String read(Path log) {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            return e.toString();
        }
    }
}
