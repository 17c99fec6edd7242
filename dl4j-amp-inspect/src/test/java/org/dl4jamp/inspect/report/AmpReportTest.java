package org.dl4jamp.inspect.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.listeners.AmpListener;
import org.dl4jamp.listeners.LayerStatisticsListener;
import org.dl4jamp.listeners.NumberStatistics;
import org.dl4jamp.listeners.SkipForensics;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.dataset.DataSet;
import org.w3c.dom.Document;

/** The numbers on the page, compared with those of the network and of other listeners. */
class AmpReportTest {
    @TempDir
    Path folder;

    private Path file;
    private final Training training = new Training();

    @BeforeEach
    void nameTheFile() {
        file = folder.resolve("report.html");
    }

    @Test
    void figuresAreThoseOfTheNetwork() throws IOException {
        MultiLayerNetwork network = Training.network("first", "second");
        MixedPrecision amp =
                MixedPrecision.enable(network, Training.overflowing().build());
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(training, report);
            Training.train(network, 30);
        }
        Document page = Pages.read(file);
        double last = training.losses.get(29);
        assertEquals(last, Pages.number(Pages.tile(page, "loss")), 1e-3 * last);
        assertTrue(amp.stepsSkipped() > 5, "skipped " + amp.stepsSkipped());
        assertEquals(amp.stepsSkipped(), Pages.whole(Pages.tile(page, "skipped")));
        assertEquals(amp.lossScale(), Pages.number(Pages.tile(page, "scale")));
        assertEquals("HALF", Pages.tile(page, "precision"));
        String words = Pages.words(page);
        assertTrue(words.contains("MultiLayerNetwork of 3 layers and " + network.numParams() + " parameters"), words);
        assertTrue(words.contains("In 30 iterations the loss went from "), words);
        assertTrue(words.contains(amp.stepsTaken() + " steps updated the parameters"), words);
        assertEquals(
                amp.plan().rows().stream().map(row -> row.reason()).toList(),
                Pages.texts(page, "//table[@class='plan']//td[@class='reason']"));
        assertEquals(amp.config().toString(), Pages.text(page, "//pre[@id='settings-text']"));
    }

    @Test
    void skippedStepsAreMarkedWhereTheyWere() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        MixedPrecision.enable(network, Training.overflowing().build());
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(training, report);
            Training.train(network, 40);
        }
        List<String> expected = training.skippedIn.stream()
                .map(iteration -> "Iteration " + iteration + ": 1 step skipped")
                .toList();
        Document page = Pages.read(file);
        assertEquals(
                expected, Pages.texts(page, "//figure[contains(figcaption, 'Loss scale')]//g[@class='skip']/title"));
        assertEquals(
                Stream.concat(expected.stream(), expected.stream()).toList(),
                Pages.texts(page, "//g[@class='skip']/title"),
                "on the loss, too");
        double first = training.skippedIn.get(0);
        double at = Pages.number(
                Pages.texts(page, "(//g[@class='skip'])[1]/line[1]/@x1").get(0));
        assertEquals(1000 * first / 39, at, 0.1);
    }

    @Test
    void theOriginsOfSkippedStepsAreThoseOfTheForensics() throws IOException {
        MultiLayerNetwork network = Training.network("first", "second");
        MixedPrecision amp =
                MixedPrecision.enable(network, Training.overflowing().build());
        SkipForensics forensics = new SkipForensics(5, 100);
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(forensics, report);
            Training.train(network, 25);
        }
        Document page = Pages.read(file);
        long passes = Pages.texts(page, "//table[@id='skip-counts']//tr/td[1]").stream()
                .mapToLong(Pages::whole)
                .sum();
        assertEquals(amp.stepsSkipped(), passes);
        SkipReport last = forensics.reports().get(forensics.reports().size() - 1);
        SkipReport.Range origin = last.origin().orElseThrow();
        assertTrue(Pages.texts(page, "//section[@id='skips']/details/summary")
                .get(0)
                .endsWith(": " + origin.array() + " of " + origin.layer()));
        List<String> arrays = Stream.concat(last.before().stream(), Stream.of(origin))
                .map(range -> range.layer() + " " + range.array())
                .toList();
        List<String> layers = Pages.texts(page, "//section[@id='skips']/details[1]//tbody/tr/td[1]");
        List<String> names = Pages.texts(page, "//section[@id='skips']/details[1]//tbody/tr/td[2]");
        for (int i = 0; i < arrays.size(); i++) {
            assertEquals(arrays.get(i), layers.get(i) + " " + names.get(i));
        }
        assertEquals(arrays.size(), layers.size());
        assertEquals(
                List.of(origin.layer()),
                Pages.texts(page, "//section[@id='skips']/details[1]//tr[@class='bad']/td[1]"));
    }

    @Test
    void theLayersNumbersAreThoseOfLayerStatistics() throws IOException {
        MultiLayerNetwork network = Training.network("first", "second");
        MixedPrecision.enable(network, Training.overflowing().build());
        LayerStatisticsListener statistics = new LayerStatisticsListener(1);
        try (AmpReport report = new AmpReport(file, 1)) {
            network.setListeners(statistics, report);
            Training.train(network, 12);
        }
        Document page = Pages.read(file);
        List<LayerStatisticsListener.Layer> layers = statistics.layers();
        assertEquals(
                layers.stream().map(LayerStatisticsListener.Layer::layer).toList(),
                Pages.texts(page, "//table[@id='layer-numbers']/tbody/tr/th"));
        for (int i = 0; i < layers.size(); i++) {
            List<String> cells = Pages.texts(page, "//table[@id='layer-numbers']/tbody/tr[" + (i + 1) + "]/td");
            NumberStatistics gradient = layers.get(i).gradient().orElseThrow();
            assertEquals(gradient.largest(), Pages.number(cells.get(6)), 1e-3 * gradient.largest());
            assertEquals(percent(gradient.zero()), cells.get(7));
            assertEquals(percent(gradient.subnormal()), cells.get(8));
        }
        assertEquals(
                layers.stream()
                        .map(LayerStatisticsListener.Layer::gradient)
                        .map(numbers -> numbers.orElseThrow())
                        .map(numbers -> percent(numbers.nearOverflow() + numbers.nonFinite()))
                        .toList(),
                Pages.texts(page, "//div[@id='gradients-near-overflow']//div[@class='row']/span[@class='last']"));
        assertTrue(Pages.text(page, "//section[@id='layers']/p").contains("of 11 iterations"), "all but the first");
    }

    /** Whole multiples of 5 % in arrays of 20 numbers, or of 10 % in one of 10. */
    private static String percent(double share) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * share).replace(".0 %", " %");
    }

    @Test
    void namesAreEscapedAndNothingIsLoadedFromElsewhere() throws IOException {
        String name = "<script>alert(\"x\")</script> & 'y'";
        MultiLayerNetwork network = Training.network(name);
        MixedPrecision.enable(network, Training.overflowing().build());
        try (AmpReport report = new AmpReport(file, 1)) {
            network.setListeners(report);
            Training.train(network, 15);
        }
        Document page = Pages.read(file);
        assertEquals(List.of(name), Pages.texts(page, "//td[@class='name']/b").subList(0, 1));
        assertEquals(List.of(), Pages.texts(page, "//script | //img | //link | //iframe | //@src"));
        String text = Files.readString(file);
        assertFalse(text.contains("http:") || text.contains("https:") || text.contains("url("), "refers to elsewhere");
        assertEquals(
                List.of(),
                Pages.texts(page, "//@href").stream()
                        .filter(link -> !link.startsWith("#"))
                        .toList());
    }

    @Test
    void withoutMixedPrecisionItHasLossAndTimes() throws IOException {
        ComputationGraph graph = Training.network("first").toComputationGraph();
        try (AmpReport report = new AmpReport(file, 1)) {
            graph.setListeners(training, report);
            graph.fit(new ExistingDataSetIterator(List.of(Training.BATCH, Training.BATCH)), 3);
        }
        Document page = Pages.read(file);
        String words = Pages.words(page);
        assertTrue(words.contains("ComputationGraph of 2 layers"), words);
        assertTrue(words.contains("without mixed precision, in DL4J’s FP32"), words);
        assertTrue(words.contains("In 6 iterations (3 epochs)"), words);
        double last = training.losses.get(5);
        assertEquals(last, Pages.number(Pages.tile(page, "loss")), 1e-3 * last);
        assertEquals("median of 6", Pages.text(page, "//div[@id='tile-time']//span"));
        assertEquals(List.of("summary", "time", "environment"), Pages.texts(page, "//section/@id"));
    }

    @Test
    void aGraphInMixedPrecisionHasItsPlan() throws IOException {
        ComputationGraph graph = Training.network("first").toComputationGraph();
        MixedPrecision amp = MixedPrecision.enable(graph, Training.overflowing().build());
        try (AmpReport report = new AmpReport(file, 1)) {
            graph.setListeners(report);
            graph.fit(new ExistingDataSetIterator(List.of(Training.BATCH, Training.BATCH)), 6);
        }
        Document page = Pages.read(file);
        assertEquals(amp.stepsSkipped(), Pages.whole(Pages.tile(page, "skipped")));
        assertTrue(amp.stepsSkipped() > 0);
        assertEquals(
                amp.plan().rows().stream().map(row -> row.name()).toList(), Pages.texts(page, "//td[@class='name']/b"));
        assertTrue(Pages.text(page, "//section[@id='layers']/p").contains("of 12 iterations"));
    }

    @Test
    void microBatchesAreIterationsAndGroupsAreSteps() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        MixedPrecision amp = MixedPrecision.enable(
                network, Training.overflowing().accumulate(4).build());
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(report);
            network.fit(new ExistingDataSetIterator(Collections.nCopies(30, Training.BATCH)), 1);
        }
        assertEquals(8, amp.stepsTaken() + amp.stepsSkipped(), "the last one of two micro-batches");
        Document page = Pages.read(file);
        assertEquals(amp.stepsSkipped(), Pages.whole(Pages.tile(page, "skipped")));
        String words = Pages.words(page);
        assertTrue(words.contains("In 30 iterations"), words);
        assertTrue(words.contains(amp.stepsTaken() + " step"), words);
        assertTrue(words.contains("each of 4 calls of fit"), words);
    }

    @Test
    void afterAResumeItCountsItsOwnStepsAndNamesTheEarlierOnes() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        AmpState state;
        try (MixedPrecision amp =
                MixedPrecision.enable(network, Training.overflowing().build())) {
            Training.train(network, 20);
            state = amp.state();
        }
        MixedPrecision amp = MixedPrecision.enable(network, state);
        long taken = amp.stepsTaken();
        long skipped = amp.stepsSkipped();
        assertTrue(skipped > 0 && taken > 0);
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(training, report);
            Training.train(network, 10);
        }
        Document page = Pages.read(file);
        assertEquals(amp.stepsSkipped() - skipped, Pages.whole(Pages.tile(page, "skipped")));
        String words = Pages.words(page);
        assertTrue(words.contains(amp.stepsTaken() - taken + " steps updated"), words);
        assertTrue(words.contains("Before this report, " + taken + " steps"), words);
        assertEquals(
                "20",
                Pages.texts(page, "//table[@class='figures']/tbody/tr[1]/td[1]").get(0),
                "DL4J's count");
    }

    @Test
    void anAmpListenerMayEnableItAfterTheFirstIteration() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        AmpListener listener = new AmpListener(Training.overflowing().build());
        try (AmpReport report = new AmpReport(file, 1)) {
            network.setListeners(listener, report);
            Training.train(network, 15);
        }
        Document page = Pages.read(file);
        MixedPrecision amp = listener.mixedPrecision().orElseThrow();
        assertEquals(amp.stepsSkipped(), Pages.whole(Pages.tile(page, "skipped")));
        assertTrue(Pages.words(page).contains(amp.stepsTaken() + " steps updated"));
    }

    @Test
    void settingsThatChangedAreShownBoth() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        MixedPrecision before =
                MixedPrecision.enable(network, Training.overflowing().build());
        String first = before.config().toString();
        MixedPrecision after;
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(report);
            Training.train(network, 5);
            before.close();
            after = MixedPrecision.enable(
                    network, Training.overflowing().keepFull("first").build());
            Training.train(network, 5);
        }
        Document page = Pages.read(file);
        assertEquals(List.of(first, after.config().toString()), Pages.texts(page, "//section[@id='settings']/pre"));
        assertEquals(before.stepsSkipped() + after.stepsSkipped(), Pages.whole(Pages.tile(page, "skipped")));
        assertTrue(Pages.texts(page, "//ul[@class='findings']/li").stream()
                .anyMatch(text -> text.startsWith("The settings changed")));
    }

    @Test
    void aLossScaleThatStaysIsNotDrawn() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        MixedPrecision.enable(
                network,
                Training.overflowing().lossScaler(new StaticLossScaler(64)).build());
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(report);
            Training.train(network, 3);
        }
        Document page = Pages.read(file);
        assertEquals("64", Pages.tile(page, "scale"));
        assertTrue(Pages.texts(page, "//section[@id='time']/p").contains("The loss scale was 64 all the time."));
        assertEquals(List.of("Loss"), Pages.texts(page, "//figure[@class='chart']/figcaption"));
    }

    @Test
    void layersWithScalesOfTheirOwnHaveNoLossScale() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        MixedPrecision.enable(network, Training.overflowing().layerScales(true).build());
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(report);
            Training.train(network, 3);
        }
        Document page = Pages.read(file);
        assertEquals(List.of(), Pages.texts(page, "//div[@id='tile-scale']"));
        assertTrue(Pages.texts(page, "//section[@id='time']/p").stream()
                .anyMatch(note -> note.contains("each layer in HALF has a scale of its own")));
    }

    @Test
    void aLossThatIsNoNumberIsShownAsSuch() throws IOException {
        MultiLayerNetwork network = Training.network("first");
        MixedPrecision amp =
                MixedPrecision.enable(network, Training.overflowing().build());
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(report);
            Training.train(network, 3);
            DataSet bad = Training.BATCH.copy();
            bad.getFeatures().putScalar(0, Double.NaN);
            network.fit(bad);
        }
        Document page = Pages.read(file);
        assertEquals("NaN", Pages.tile(page, "loss"));
        assertEquals(amp.stepsSkipped(), Pages.whole(Pages.tile(page, "skipped")));
        assertTrue(Pages.texts(page, "//ul[@class='findings']/li")
                .contains("The loss was NaN or infinite in 1 iteration."));
        assertTrue(Pages.texts(page, "//table[@id='skip-counts']//td[2]").contains("the batch isn’t finite"));
    }
}
