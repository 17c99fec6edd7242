package org.dl4jamp.inspect.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.listeners.LayerStatisticsListener.Layer;
import org.dl4jamp.listeners.NumberStatistics;
import org.dl4jamp.listeners.StepFigures;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.w3c.dom.Document;

class PageTest {
    private static final int LAYERS = 107;

    /** Layers as many as ResNet-50 has, with numbers that differ from look to look. */
    private static List<Layer> layers(Random random) {
        List<Layer> layers = new ArrayList<>();
        for (int i = 0; i < LAYERS; i++) {
            NumberStatistics numbers = new NumberStatistics(
                    DataType.HALF, 4096, random.nextDouble() / 2, random.nextDouble() / 2, random.nextDouble(), 0, 3);
            layers.add(new Layer("layer" + i, Optional.of(numbers), Optional.of(numbers)));
        }
        return layers;
    }

    @Test
    void thePageOfALongTrainingOfALargeNetworkIsSmall() {
        MultiLayerNetwork network = Training.network("first");
        MixedPrecision.enable(network, Training.overflowing().build());
        Recording recording = new Recording(network);
        Random random = new Random(1);
        for (int i = 0; i < 100_000; i++) {
            recording.add(new StepFigures(
                    i,
                    0,
                    random.nextDouble(),
                    OptionalDouble.of(64),
                    0,
                    0,
                    OptionalDouble.of(1),
                    OptionalDouble.of(1),
                    1));
            if (i % 100 == 0) {
                recording.layers().add(i, layers(random), name -> OptionalDouble.of(8));
            }
        }
        String page = Page.of(recording, true);
        assertTrue(page.length() < 3_000_000, page.length() + " characters");
        Document document = Pages.parse(page);
        assertTrue(Pages.words(document).contains("In 100,000 iterations"));
        assertEquals(
                LAYERS,
                Pages.texts(document, "//div[@id='underflow']//div[@class='row']/svg")
                        .size());
        assertEquals(
                LAYERS,
                Pages.texts(document, "//table[@id='layer-numbers']/tbody/tr/td[11]")
                        .size());
        assertEquals(
                "8",
                Pages.texts(document, "//table[@id='layer-numbers']/tbody/tr/td[11]")
                        .get(0));
        assertTrue(Pages.text(document, "//section[@id='layers']/p").contains("of 1,000 iterations"));
    }

    @Test
    void charactersThatNoPageMayHoldAreReplaced() {
        assertEquals("a\uFFFD&amp;&#39;\uFFFDé😀", Page.escape("a\u0000&'\uD800é😀"));
    }
}
