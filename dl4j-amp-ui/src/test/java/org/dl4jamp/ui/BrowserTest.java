package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.deeplearning4j.core.storage.StatsStorageRouter;
import org.deeplearning4j.core.storage.impl.RemoteUIStatsStorageRouter;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.ui.model.storage.FileStatsStorage;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.ui.record.PlanContent;
import org.dl4jamp.ui.record.StepContent;
import org.dl4jamp.ui.record.StoredRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The tab in a browser, while networks train. */
@Tag("long")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BrowserTest {
    private final InMemoryStatsStorage storage = new InMemoryStatsStorage();
    private Browser browser;
    private AmpUi ui;

    @BeforeEach
    void start() {
        browser = Browser.open();
        ui = AmpUi.builder().port(0).start().attach(storage);
    }

    @AfterEach
    void stop() {
        if (browser != null) {
            browser.close();
        }
        if (ui != null) {
            ui.close();
        }
    }

    private String base() {
        return "http://localhost:" + ui.port();
    }

    private void assertQuietAndLocal() {
        assertEquals(List.of(), browser.complaints());
        List<String> elsewhere = browser.loaded().stream()
                .filter(address -> !address.startsWith(base() + "/"))
                .toList();
        assertEquals(List.of(), elsewhere);
        assertFalse(browser.loaded().isEmpty());
    }

    @Test
    void followsATrainingFromBeforeItsFirstReport() {
        browser.go(ui.address());
        browser.until(() -> browser.isShown("#empty"));
        assertEquals("Waiting for a first report.", browser.text("#status"));
        assertFalse(browser.isShown("#content"));

        try (LiveTraining training = new LiveTraining(
                Training.network("one", "two", "three"),
                Training.half(0x1p24, 20).build(),
                storage,
                "live",
                10)) {
            browser.until(() -> browser.number("#tile-iteration .value") > 30);
            assertFalse(browser.isShown("#empty"));
            double seen = browser.number("#tile-iteration .value");
            browser.until(() -> browser.number("#tile-iteration .value") > seen);

            assertEquals("HALF", browser.text("#tile-precision .value"));
            assertTrue(browser.text("#tile-scale .value").startsWith("2"), browser.text("#tile-scale .value"));
            assertTrue(browser.number("#tile-skipped .value") > 0, "the first steps are skipped");
            assertEquals(1, browser.count("#lossScaleChart path.series"));
            assertTrue(browser.count("#lossScaleChart path.mark") >= (int) browser.number("#tile-skipped .value") - 1);
            assertTrue(browser.text("#lastSkip .first").startsWith("First: gradient of "), browser.text("#lastSkip"));
            String firstSkip = browser.text("#skips tr:last-child");
            assertTrue(firstSkip.contains("2\u00b2\u2074"), "2 to the power of 24: " + firstSkip);
            assertTrue(firstSkip.endsWith("gradient of W of three"), firstSkip);
            assertEquals(3 + 1 + 1, browser.count("#plan tr"), "hidden layers, output layer and header");
            assertTrue(browser.text("#scales").contains("AmpConfig.layerScales(true)"));
            assertFalse(browser.isShown("#workersCard"));

            assertEquals("4", browser.attribute("#underflowMap canvas", "data-rows"), "gradients of inputs");
            browser.click(".switch button[data-of=outputs]");
            browser.until(() -> "3".equals(browser.attribute("#underflowMap canvas", "data-rows")));
            assertTrue(browser.text("#overflowNote").contains("outputs"));
        }
        assertQuietAndLocal();
    }

    @Test
    void isReachedFromDl4jsTabsAndLeadsBack() {
        try (LiveTraining training = new LiveTraining(
                Training.network("one"), Training.half(1024, 100).build(), storage, "live", 10)) {
            browser.go(base() + "/train/overview");
            browser.follow("Mixed precision");
            browser.until(() -> browser.number("#tile-iteration .value") >= 0);
            assertQuietAndLocal();
            browser.follow("Model");
            browser.until(() -> browser.url().endsWith("/train/model"));
        }
    }

    @Test
    void fitsALaptopAndAPhone() {
        try (LiveTraining training = new LiveTraining(
                Training.network("a_layer_with_a_rather_long_name_for_a_phone", "two"),
                Training.half(0x1p24, 20).layerScales(true).build(),
                storage,
                "a-session-with-a-rather-long-name-for-a-telephone",
                10)) {
            browser.go(ui.address());
            for (int width : List.of(Browser.LAPTOP, Browser.PHONE)) {
                browser.resize(width);
                browser.until(() -> browser.number("#tile-iteration .value") > 20);
                browser.until(browser::isDrawnAtItsWidth);
                assertEquals(0, browser.pixelsBeyondTheEdge(), "at a width of " + width);
            }
            assertTrue(browser.text("#scales").startsWith("No layer has a scale of its own so far."));
            assertEquals("of layers", browser.text("#tile-scale .value"));
        }
        assertQuietAndLocal();
    }

    /** A CPU's engines compute gradients in FP32, and choose no scales. So these are written by hand. */
    @Test
    void aScaleOfALayerIsShownWithItsRange() {
        PrecisionPlan.Row row = new PrecisionPlan.Row(
                "dense",
                "DenseLayer",
                true,
                LayerKind.LOWER,
                Precision.HALF,
                Precision.HALF,
                Precision.HALF,
                "nd4j",
                "reason");
        PlanContent plan =
                new PlanContent("network", "nd4j", "scaler", true, new PrecisionPlan(Precision.HALF, "", List.of(row)));
        storage.putStaticInfo(new StoredRecord("scales", "worker", 1, plan));
        double[] scales = {0x1p3, 0x1p11, 0x1p7};
        for (int i = 0; i < scales.length; i++) {
            StepContent.Layer layer =
                    new StepContent.Layer("dense", Optional.empty(), Optional.empty(), OptionalDouble.of(scales[i]));
            StepContent step = new StepContent(i, 0, 1, 1, i + 1, 0, List.of(layer));
            storage.putUpdate(new StoredRecord("scales", "worker", 2 + i, step));
        }
        browser.go(ui.address());
        browser.until(() -> browser.number("#tile-iteration .value") == 2);
        assertEquals("of layers", browser.text("#tile-scale .value"));
        assertEquals(
                List.of("dense", "2\u2077", "2\u00b3", "2\u00b9\u00b9"),
                List.of(browser.text("#scales tr:last-child").strip().split("\\s+")));
        assertEquals(1, browser.count("#scales td.spark polyline"));
        assertQuietAndLocal();
    }

    @Test
    void showsAFile(@TempDir Path folder) {
        File file = folder.resolve("training.dl4j").toFile();
        FileStatsStorage written = new FileStatsStorage(file);
        report(written, "stored", "worker", 0x1p28, 6, "one");
        written.close();
        ui.attach(file);
        browser.go(ui.address());
        browser.until(() -> browser.number("#tile-iteration .value") == 5);
        assertTrue(browser.text("#lastSkip").contains("First: gradient of"), browser.text("#lastSkip"));
        assertQuietAndLocal();
    }

    @Test
    void showsWhatAnotherProgramSends() throws Exception {
        ui.close();
        ui = AmpUi.builder().port(0).receive().start();
        try (RemoteUIStatsStorageRouter router = new RemoteUIStatsStorageRouter(base())) {
            report(router, "remote", "worker", 0x1p28, 6, "one");
            browser.go(ui.address());
            browser.until(() -> browser.number("#tile-iteration .value") == 5);
        }
        assertTrue(browser.text("#lastSkip").contains("First: gradient of"), browser.text("#lastSkip"));
        assertQuietAndLocal();
    }

    @Test
    void nothingOfTheSessionBeforeIsLeftAfterAnotherIsChosen() {
        report("many", 40, "one", "two", "three");
        report("few", 3, "other");
        browser.go(ui.address() + "?session=many");
        browser.until(() -> browser.number("#tile-iteration .value") == 39);
        assertEquals(3 + 1 + 1, browser.count("#plan tr"));
        assertTrue(browser.text("#lastSkip").contains("three"));

        browser.choose("#session", "few");
        browser.until(() -> browser.number("#tile-iteration .value") == 2);
        assertEquals(1 + 1 + 1, browser.count("#plan tr"));
        assertFalse(browser.text("main").contains("three"));
        assertQuietAndLocal();
    }

    @Test
    void workersAreSideBySideAndOneOfThemIsChosen() {
        report("session", "worker_0", 0x1p10, 12, "one");
        report("session", "worker_1", 0x1p28, 5, "one");
        browser.go(ui.address());
        browser.until(() -> browser.count("#workers tr.choice") == 2);
        assertEquals(2, browser.count("#lossScaleChart path.series"));
        assertEquals(11, browser.number("#tile-iteration .value"));
        assertEquals("No step was skipped.", browser.text("#lastSkip"));

        browser.click("#workers tr[data-worker=worker_1]");
        browser.until(() -> browser.number("#tile-iteration .value") == 4);
        assertTrue(browser.text("#lastSkip").contains("First: gradient of"), browser.text("#lastSkip"));
        assertEquals("worker_1", browser.attribute("#workers tr.chosen", "data-worker"));
        assertQuietAndLocal();
    }

    private void report(String session, int iterations, String... hidden) {
        report(session, "worker", 0x1p28, iterations, hidden);
    }

    private void report(String session, String worker, double scale, int iterations, String... hidden) {
        report(storage, session, worker, scale, iterations, hidden);
    }

    private static void report(
            StatsStorageRouter router, String session, String worker, double scale, int iterations, String... hidden) {
        MultiLayerNetwork network = Training.network(hidden);
        MixedPrecision.enable(network, Training.half(scale, 1000).build());
        network.setListeners(new MixedPrecisionStatsListener(router, 1, session, worker));
        for (int i = 0; i < iterations; i++) {
            network.fit(Training.batch(i));
        }
    }
}
