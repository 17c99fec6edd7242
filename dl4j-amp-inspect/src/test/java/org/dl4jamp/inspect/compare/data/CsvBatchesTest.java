package org.dl4jamp.inspect.compare.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

class CsvBatchesTest {
    @TempDir
    private Path folder;

    private List<MultiDataSet> read(Model network, String text, int batch, int timesteps) throws IOException {
        Path file = Files.writeString(folder.resolve("data.csv"), text);
        return CsvBatches.read(file, network, new BatchSettings(batch, 2, timesteps, 1, List.of()));
    }

    @Test
    void rowsAreFeaturesAndThenLabelsBelowAnOptionalHeader() throws IOException {
        String rows = "1,2,0,0,1\n\n -3.5, 4e-1 ,1,0,0\n5,6,0,1,0\n";
        for (String text : List.of(rows, "a,b,x,y,z\n" + rows, "\"a, b\",,x,y,z\r\n" + rows.replace("\n", "\r\n"))) {
            List<MultiDataSet> batches = read(DataNetworks.classifier(), text, 2, 9);
            assertEquals(2, batches.size());
            assertEquals(
                    Nd4j.createFromArray(new float[][] {{1, 2}, {-3.5f, 0.4f}}),
                    batches.get(0).getFeatures(0));
            assertEquals(
                    Nd4j.createFromArray(new float[][] {{0, 0, 1}, {1, 0, 0}}),
                    batches.get(0).getLabels(0));
            assertEquals(
                    Nd4j.createFromArray(new float[][] {{5, 6}}), batches.get(1).getFeatures(0));
        }
    }

    @Test
    void onlyAsManyRowsAreReadAsAreNeeded() throws IOException {
        assertEquals(
                2,
                read(DataNetworks.classifier(), "1,2,0\n1,2,1\n1,2,none\n", 1, 1)
                        .size());
    }

    @Test
    void theNumberOfAClassStandsForOneAmongZeros() throws IOException {
        assertEquals(
                Nd4j.createFromArray(new float[][] {{0, 0, 1}, {1, 0, 0}}),
                read(DataNetworks.classifier(), "1,2,2\n3,4,0", 2, 1).get(0).getLabels(0));
    }

    @Test
    void rowsOfASequenceAreItsTimeSteps() throws IOException {
        MultiDataSet batch = read(DataNetworks.sequences(), "1,2,0\n3,4,1\n5,6,2\n7,8,0\n", 2, 2)
                .get(0);
        assertEquals(Nd4j.createFromArray(new float[][][] {{{1, 3}, {2, 4}}, {{5, 7}, {6, 8}}}), batch.getFeatures(0));
        assertEquals(
                Nd4j.createFromArray(new float[][][] {{{1, 0}, {0, 1}, {0, 0}}, {{0, 1}, {0, 0}, {1, 0}}}),
                batch.getLabels(0));
        AmpException e =
                assertThrows(AmpException.class, () -> read(DataNetworks.sequences(), "1,2,0\n3,4,1\n5,6,2\n", 2, 2));
        assertTrue(e.getMessage().contains("has 3 rows, which aren't whole sequences of 2 time steps"), e.getMessage());
    }

    @Test
    void imagesAreRowsOfPixels() throws IOException {
        MultiDataSet batch =
                read(DataNetworks.flatImages(), "1,2,3,4,5,6,0.5", 1, 1).get(0);
        assertArrayEquals(new long[] {1, 6}, batch.getFeatures(0).shape());
        assertEquals(0.5, batch.getLabels(0).getDouble(0));
    }

    @ParameterizedTest
    @CsvSource({
        "'1,2,0,0\n', 'line 1 has 4 columns; the network takes 2 features and then 3 labels or the number of the class'",
        "'1,2,0\n1,2,0,0,1,7', line 2 has 6 columns",
        "'1,2,0\n1,oops,0', 'line 2, column 2: \"oops\" isn''t a finite FP32 number'",
        "'a,b,c\n1,2,0\n1,,0', 'line 3, column 2: \"\" isn''t a finite FP32 number'",
        "'1,2,0\n\n\n1,x,0\n\n', 'line 4, column 2: \"x\" isn''t'",
        "'1,NaN,0', 'line 1, column 2: \"NaN\" isn''t a finite FP32 number'",
        "'1,1e39,0', 'line 1, column 2: \"1e39\" isn''t'",
        "'1,2,3', 'line 1, column 3: 3.0 isn''t the number of a class; the network has 0 to 2'",
        "'1,2,0.5', 'column 3: 0.5 isn''t the number of a class'",
        "'', has no rows of numbers",
        "'a,b,c\n', has no rows of numbers",
    })
    void whatDoesNotFitIsSaidInOneLine(String text, String message) {
        AmpException e = assertThrows(AmpException.class, () -> read(DataNetworks.classifier(), text, 8, 1));
        assertTrue(e.getMessage().contains(message), e.getMessage());
        assertTrue(e.getMessage().contains("data.csv"), e.getMessage());
        assertFalse(e.getMessage().contains("\n"), e.getMessage());
    }

    @Test
    void symbolsHaveToBeThere() throws IOException {
        assertEquals(
                6,
                read(DataNetworks.symbols(), "6,0,1", 1, 1)
                        .get(0)
                        .getFeatures(0)
                        .getDouble(0));
        AmpException e = assertThrows(AmpException.class, () -> read(DataNetworks.symbols(), "7,0,1", 1, 1));
        assertTrue(e.getMessage().contains("7.0 isn't the number of a symbol; the network has 0 to 6"), e.getMessage());
    }

    @Test
    void filesThatAreNotThereAndGraphsWithSeveralInputsAreRefused() {
        BatchSettings settings = new BatchSettings(1, 1, 1, 1, List.of());
        AmpException missing = assertThrows(
                AmpException.class,
                () -> CsvBatches.read(folder.resolve("none.csv"), DataNetworks.classifier(), settings));
        assertTrue(missing.getMessage().contains("no such file"), missing.getMessage());
        AmpException directory =
                assertThrows(AmpException.class, () -> CsvBatches.read(folder, DataNetworks.classifier(), settings));
        assertTrue(directory.getMessage().contains("a folder"), directory.getMessage());
        AmpException graph = assertThrows(AmpException.class, () -> read(DataNetworks.graph(), "1,2,3", 1, 1));
        assertTrue(graph.getMessage().contains("2 inputs and 2 outputs"), graph.getMessage());
        assertTrue(graph.getMessage().contains("--random"), graph.getMessage());
    }
}
