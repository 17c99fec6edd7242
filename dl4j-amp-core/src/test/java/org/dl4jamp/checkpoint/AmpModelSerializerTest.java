package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.NoLossScaler;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.preprocessor.NormalizerStandardize;

class AmpModelSerializerTest {
    private static final Optional<AmpState> STATE = Optional.of(AmpStateTest.STATE);

    @TempDir
    private Path folder;

    private Path zip;
    private MultiLayerNetwork net;
    private ComputationGraph graph;
    private NormalizerStandardize normalizer;

    @BeforeEach
    void trainNetworks() {
        zip = folder.resolve("model.zip");
        DataSet batch = SmallNetworks.batch(8, 4);
        net = new MultiLayerNetwork(SmallNetworks.dense());
        net.init();
        net.fit(batch);
        graph = new ComputationGraph(SmallNetworks.graph());
        graph.init();
        graph.fit(batch);
        normalizer = new NormalizerStandardize();
        normalizer.fit(batch);
    }

    @Test
    void plainDl4jReadsTheZipAndFindsEverything() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, normalizer);
        assertSameBits(net, ModelSerializer.restoreMultiLayerNetwork(zip.toFile(), true));
        assertSameBits(net, MultiLayerNetwork.load(zip.toFile(), true));
        assertEquals(normalizer, ModelSerializer.restoreNormalizerFromFile(zip.toFile()));

        ModelZip.write(graph, STATE, zip.toFile(), true, normalizer);
        assertSameBits(graph, ModelSerializer.restoreComputationGraph(zip.toFile(), true));
        assertEquals(
                normalizer,
                ModelSerializer.restoreComputationGraphAndNormalizer(zip.toFile(), true)
                        .getSecond());
    }

    @Test
    void theStateIsReadBackWithTheNetwork() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, normalizer);
        List<AmpState> enabled = new ArrayList<>();
        MultiLayerNetwork restored = ModelZip.read(
                zip.toFile(), true, ModelSerializer::restoreMultiLayerNetwork, (network, state) -> enabled.add(state));
        assertSameBits(net, restored);
        assertEquals(1, enabled.size());
        assertArrayEquals(AmpStateTest.STATE.toJson(), enabled.get(0).toJson());
    }

    @Test
    void theStateSurvivesDl4jAddingANormalizerOrAnObject() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        ModelSerializer.addNormalizerToModel(zip.toFile(), normalizer);
        ModelSerializer.addObjectToFile(zip.toFile(), "note", "kept");
        assertEquals("kept", ModelSerializer.getObjectFromFile(zip.toFile(), "note"));
        assertArrayEquals(
                AmpStateTest.STATE.toJson(),
                ModelZip.state(zip, "").orElseThrow().toJson());
    }

    @Test
    void aStreamGetsTheSameEntriesAndStaysOpen() throws IOException {
        ByteArrayOutputStream stream = new ByteArrayOutputStream() {
            @Override
            public void close() {
                throw new AssertionError("closed");
            }
        };
        ModelZip.write(net, STATE, stream, true, normalizer);
        assertSameBits(
                net, ModelSerializer.restoreMultiLayerNetwork(new ByteArrayInputStream(stream.toByteArray()), true));
        Files.write(zip, stream.toByteArray());
        assertArrayEquals(
                AmpStateTest.STATE.toJson(),
                ModelZip.state(zip, "").orElseThrow().toJson());
    }

    @Test
    void aNetworkWithoutMixedPrecisionIsWrittenAndRestoredAsDl4jDoes() throws IOException {
        AmpModelSerializer.writeModel(net, zip.toString(), true);
        assertEquals(Optional.empty(), ModelZip.state(zip, ""));
        assertSameBits(net, AmpModelSerializer.restoreMultiLayerNetwork(zip.toFile()));
        assertSameBits(net, AmpModelSerializer.restoreMultiLayerNetwork(zip.toString()));
        assertSameBits(net, AmpModelSerializer.restoreMultiLayerNetwork(Files.newInputStream(zip)));
        assertNull(AmpModelSerializer.restoreMultiLayerNetworkAndNormalizer(zip.toFile(), true)
                .getSecond());

        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        AmpModelSerializer.writeModel(graph, stream, true, normalizer);
        Files.write(zip, stream.toByteArray());
        assertSameBits(graph, AmpModelSerializer.restoreComputationGraph(zip.toFile()));
        assertSameBits(graph, AmpModelSerializer.restoreComputationGraph(zip.toString()));
        assertSameBits(graph, AmpModelSerializer.restoreComputationGraph(Files.newInputStream(zip)));
        assertEquals(
                normalizer,
                AmpModelSerializer.restoreComputationGraphAndNormalizer(Files.newInputStream(zip), true)
                        .getSecond());
    }

    @Test
    void theUpdaterIsLeftOutIfAsked() throws IOException {
        AmpModelSerializer.writeModel(net, zip.toFile(), false);
        INDArray updater = AmpModelSerializer.restoreMultiLayerNetwork(zip.toFile())
                .getUpdater()
                .getStateViewArray();
        assertEquals(0.0, updater.norm1Number().doubleValue());
    }

    @Test
    void aFileIsReplacedAndNothingIsLeftBesideIt() throws IOException {
        Files.writeString(zip, "old");
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        assertSameBits(net, ModelSerializer.restoreMultiLayerNetwork(zip.toFile(), true));
        assertEquals(Set.of("model.zip"), namesIn(folder));
    }

    @Test
    void anybodyMayReadTheFileWhoMayReadOneThatDl4jWrites() throws IOException {
        Path plain = folder.resolve("plain.zip");
        ModelSerializer.writeModel(net, plain.toFile(), true);
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        if (Files.getFileStore(folder).supportsFileAttributeView("posix")) {
            Set<PosixFilePermission> expected = Files.getPosixFilePermissions(plain);
            assertEquals(expected, Files.getPosixFilePermissions(zip));
        }
    }

    @Test
    void aLinkStaysALink() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("latest.zip"), zip);
        Files.writeString(zip, "old");
        ModelZip.write(net, STATE, link.toFile(), true, null);
        assertTrue(Files.isSymbolicLink(link));
        assertSameBits(net, ModelSerializer.restoreMultiLayerNetwork(zip.toFile(), true));
    }

    @Test
    void aFailureInTheMiddleOfWritingLeavesTheOldFileWhole() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        byte[] before = Files.readAllBytes(zip);
        MultiLayerNetwork failing = failsAfterItsParameters(net);
        for (Optional<AmpState> state : List.of(STATE, Optional.<AmpState>empty())) {
            assertThrows(IllegalStateException.class, () -> ModelZip.write(failing, state, zip.toFile(), true, null));
            assertArrayEquals(before, Files.readAllBytes(zip));
            assertEquals(Set.of("model.zip"), namesIn(folder));
        }
        Path other = folder.resolve("new.zip");
        assertThrows(IllegalStateException.class, () -> ModelZip.write(failing, STATE, other.toFile(), true, null));
        assertEquals(Set.of("model.zip"), namesIn(folder));
    }

    @Test
    void aStreamThatFailsLeavesNoTemporaryFile() throws IOException {
        Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
        Set<String> before = namesIn(temporary, "dl4j-amp");
        OutputStream full = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("No space left on device");
            }
        };
        assertThrows(IOException.class, () -> ModelZip.write(net, STATE, full, true, null));
        assertEquals(before, namesIn(temporary, "dl4j-amp"));
    }

    @Test
    void settingsThatCannotBeWrittenLeaveTheOldFileWhole() throws IOException {
        Files.writeString(zip, "old");
        Optional<AmpState> state = Optional.of(
                new AmpState(AmpConfig.builder().keepFull(layer -> true).build(), new NoLossScaler().state(), 0, 0, 0));
        assertThrows(AmpException.class, () -> ModelZip.write(net, state, zip.toFile(), true, null));
        assertEquals("old", Files.readString(zip));
    }

    @Test
    void aMissingFolderIsNamed() {
        File file = folder.resolve("missing/model.zip").toFile();
        NoSuchFileException e =
                assertThrows(NoSuchFileException.class, () -> AmpModelSerializer.writeModel(net, file, true));
        assertTrue(e.getMessage().contains("missing"), e.getMessage());
    }

    private void assertRejected(String afterTheFile) {
        AmpException e =
                assertThrows(AmpException.class, () -> AmpModelSerializer.restoreMultiLayerNetwork(zip.toFile()));
        assertTrue(e.getMessage().startsWith(zip + afterTheFile), e.getMessage());
    }

    @Test
    void aTruncatedZipIsRejectedAndNamed() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        byte[] whole = Files.readAllBytes(zip);
        for (int length : new int[] {0, 1, whole.length / 2, whole.length - 1}) {
            Files.write(zip, Arrays.copyOf(whole, length));
            assertRejected(": truncated or not a model zip");
        }
    }

    @Test
    void aCorruptEntryIsRejectedAndNamed() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        replaceEntry("{\"formatVersion\":1,");
        assertRejected(", entry amp.json: truncated or not JSON at line 1");
        assertSameBits(net, ModelSerializer.restoreMultiLayerNetwork(zip.toFile(), true));
    }

    @Test
    void anEntryThatIsOtherJsonThanWasWrittenIsRejectedAndNamed() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        try (FileSystem entries = FileSystems.newFileSystem(zip, Map.of("noCompression", "true"))) {
            Files.write(entries.getPath(ModelZip.STATE), STATE.orElseThrow().toJson());
        }
        byte[] bytes = Files.readAllBytes(zip);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        int digit = text.indexOf("\"stepsTaken\":") + "\"stepsTaken\":".length();
        bytes[digit] ^= 1;
        Files.write(zip, bytes);
        assertRejected(", entry amp.json: corrupt");
    }

    @Test
    void aDamagedEntryIsRejectedAndNamed() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        byte[] bytes = Files.readAllBytes(zip);
        int entry = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(ModelZip.STATE);
        Arrays.fill(bytes, entry + 40, entry + 80, (byte) 0x55);
        Files.write(zip, bytes);
        assertRejected(", entry amp.json: ");
    }

    @Test
    void anEntryThatIsTooLargeIsRejectedWithoutReadingAllOfIt() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        replaceEntry(" ".repeat(3 << 20));
        assertRejected(", entry amp.json: more than 1 MB");
    }

    @Test
    void aModelThatDl4jCannotRestoreIsNamed() throws IOException {
        ModelZip.write(graph, STATE, zip.toFile(), true, null);
        AmpException otherKind =
                assertThrows(AmpException.class, () -> AmpModelSerializer.restoreMultiLayerNetwork(zip.toFile()));
        assertTrue(otherKind.getMessage().startsWith(zip + ": corrupt, or a model of"), otherKind.getMessage());

        ModelZip.write(net, STATE, zip.toFile(), true, null);
        byte[] bytes = Files.readAllBytes(zip);
        Arrays.fill(bytes, 100, 140, (byte) 0x55);
        Files.write(zip, bytes);
        AmpException corrupt =
                assertThrows(AmpException.class, () -> AmpModelSerializer.restoreMultiLayerNetwork(zip.toFile()));
        assertTrue(corrupt.getMessage().startsWith(zip + ": corrupt"), corrupt.getMessage());
        AmpException stream = assertThrows(
                AmpException.class, () -> AmpModelSerializer.restoreMultiLayerNetwork(Files.newInputStream(zip)));
        assertTrue(stream.getMessage().startsWith("the stream: corrupt"), stream.getMessage());
    }

    @Test
    void aNewerEntryAsksForAnUpgrade() throws IOException {
        ModelZip.write(graph, STATE, zip.toFile(), true, null);
        replaceEntry("{\"formatVersion\":2,\"anything\":\"new\"}");
        AmpException e =
                assertThrows(AmpException.class, () -> AmpModelSerializer.restoreComputationGraph(zip.toFile()));
        assertEquals(
                zip + ", entry amp.json: format version 2, this dl4j-amp reads up to 1: upgrade dl4j-amp",
                e.getMessage());
    }

    @Test
    void whatMixedPrecisionRejectsIsNamedByItsFile() throws IOException {
        ModelZip.write(net, STATE, zip.toFile(), true, null);
        AmpException e = assertThrows(
                AmpException.class,
                () -> ModelZip.read(zip.toFile(), true, ModelSerializer::restoreMultiLayerNetwork, (network, state) -> {
                    throw new AmpException("engine \"onednn\" is not here");
                }));
        assertEquals(zip + ", entry amp.json: engine \"onednn\" is not here", e.getMessage());
    }

    private void replaceEntry(String json) throws IOException {
        try (FileSystem entries = FileSystems.newFileSystem(zip, Map.of())) {
            Files.writeString(entries.getPath(ModelZip.STATE), json);
        }
    }

    private static Set<String> namesIn(Path folder) throws IOException {
        return namesIn(folder, "");
    }

    private static Set<String> namesIn(Path folder, String prefix) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return Set.copyOf(files.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith(prefix))
                    .toList());
        }
    }

    private static void assertSameBits(MultiLayerNetwork expected, MultiLayerNetwork actual) {
        assertArrayEquals(expected.params().toFloatVector(), actual.params().toFloatVector());
        assertArrayEquals(
                expected.getUpdater().getStateViewArray().toFloatVector(),
                actual.getUpdater().getStateViewArray().toFloatVector());
        assertEquals(
                expected.getLayerWiseConfigurations().toJson(),
                actual.getLayerWiseConfigurations().toJson());
    }

    private static void assertSameBits(ComputationGraph expected, ComputationGraph actual) {
        assertArrayEquals(expected.params().toFloatVector(), actual.params().toFloatVector());
        assertArrayEquals(
                expected.getUpdater().getStateViewArray().toFloatVector(),
                actual.getUpdater().getStateViewArray().toFloatVector());
    }

    /**
     * A copy that fails when the configuration and the parameters have been written, and the updater's state has not.
     */
    private static MultiLayerNetwork failsAfterItsParameters(MultiLayerNetwork network) {
        MultiLayerNetwork failing = network.clone();
        failing.setUpdater(new MultiLayerUpdater(failing) {
            @Override
            public INDArray getStateViewArray() {
                throw new IllegalStateException("no state");
            }
        });
        return failing;
    }
}
