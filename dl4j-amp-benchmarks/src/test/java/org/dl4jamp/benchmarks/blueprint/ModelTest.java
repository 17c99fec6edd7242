package org.dl4jamp.benchmarks.blueprint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelTest {
    private static final Window WINDOW = new Window(3, 2, 2, 1, Window.Padding.even(1, 0));
    private static final Blueprint EVERYTHING = new Blueprint(
            "everything",
            List.of(
                    new Operation.Convolution("a", List.of(Blueprint.INPUT), WINDOW),
                    new Operation.BatchNormalization("b", List.of("a"), 1e-5, 0.9),
                    new Operation.Relu("c", List.of("b")),
                    new Operation.Add("d", List.of("a", "c")),
                    new Operation.MaxPooling("e", List.of("d"), WINDOW),
                    new Operation.Flatten("f", List.of("e")),
                    new Operation.Dense("g", List.of("f"), true),
                    new Operation.Lstm("h", List.of("g"), true),
                    new Operation.Attention("i", List.of("h"), 8),
                    new Operation.Merge("j", List.of("a", "e")),
                    new Operation.Upsampling("k", List.of("j"), 2, 3)),
            new Loss(Loss.Kind.CROSS_ENTROPY, 6, 3),
            new Updater.Nesterov(0.1, 0.9));

    @TempDir
    private Path folder;

    @Test
    void whatIsReadIsWhatWasWritten() throws IOException {
        Tensors tensors = new Tensors();
        float[] many = new float[40_000];
        many[39_999] = Float.MIN_VALUE;
        tensors.put("a/WEIGHTS", new Tensor(new long[] {100, 4, 100}, many));
        tensors.put("scalar", new Tensor(new long[0], new float[] {-1.5f}));
        tensors.put("empty", new Tensor(new long[] {0, 3}, new float[0]));
        new Model(EVERYTHING, tensors).write(folder);

        Model read = Model.read(folder);
        assertEquals(EVERYTHING, read.blueprint());
        assertEquals(EVERYTHING, Model.readBlueprint(folder));
        Tensor weights = read.tensors().get(EVERYTHING.operations().get(0), Parameter.WEIGHTS);
        assertArrayEquals(new long[] {100, 4, 100}, weights.shape());
        assertArrayEquals(many, weights.values());
        assertArrayEquals(new float[] {-1.5f}, read.tensors().get("scalar").values());
        assertEquals(0, read.tensors().get("empty").values().length);
    }

    @Test
    void adamSurvivesTheFileToo() throws IOException {
        Updater adam = new Updater.Adam(1e-3, 0.9, 0.999, 1e-8);
        new Model(new Blueprint("adam", List.of(), EVERYTHING.loss(), adam), new Tensors()).write(folder);
        assertEquals(adam, Model.readBlueprint(folder).updater());
    }

    @Test
    void aTensorThatIsMissingOrThereTwiceIsNamed() {
        Tensors tensors = new Tensors();
        tensors.put("a", new Tensor(new long[] {1}, new float[1]));
        String missing = assertThrows(IllegalArgumentException.class, () -> tensors.get("b"))
                .getMessage();
        assertTrue(missing.contains("named b") && missing.contains("[a]"), missing);
        String twice = assertThrows(
                        IllegalArgumentException.class,
                        () -> tensors.put("a", new Tensor(new long[] {1}, new float[1])))
                .getMessage();
        assertTrue(twice.contains("named a"), twice);
    }

    @Test
    void aShapeHasToHoldTheNumbers() {
        String message = assertThrows(IllegalArgumentException.class, () -> new Tensor(new long[] {2, 3}, new float[5]))
                .getMessage();
        assertTrue(message.contains("[2, 3]") && message.contains("5"), message);
    }

    @Test
    void windowsCountTheirPlaces() {
        assertEquals(4, WINDOW.outputHeight(7));
        assertEquals(6, WINDOW.outputWidth(7));
        assertEquals(new Window(3, 2, 2, 1, Window.Padding.even(4, 1)), WINDOW.padded(3, 1));
        assertTrue(WINDOW.padding().bothSidesAlike());
    }

    @Test
    void aWindowMayBePaddedOnOneSideOnly() {
        Window window = new Window(2, 2, 1, 1, new Window.Padding(0, 0, 1, 1));
        assertEquals(7, window.outputHeight(7));
        assertEquals(7, window.outputWidth(7));
        assertFalse(window.padding().bothSidesAlike());
        assertEquals(new Window.Padding(3, 1, 4, 2), window.padded(3, 1).padding());
    }

    @Test
    void aMeanLossIsTheSumOverTheMinibatchByTerms() {
        assertEquals(5.0, EVERYTHING.loss().mean(10), 0);
    }
}
