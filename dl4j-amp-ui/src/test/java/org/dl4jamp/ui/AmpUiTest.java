package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.deeplearning4j.core.storage.StatsStorageRouter;
import org.deeplearning4j.ui.VertxUIServer;
import org.deeplearning4j.ui.api.UIServer;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.dl4jamp.listeners.NumberStatistics;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.ui.record.PlanContent;
import org.dl4jamp.ui.record.StepContent;
import org.dl4jamp.ui.record.StoredRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.slf4j.LoggerFactory;

/** The server: where it listens, what it answers, and what it refuses. */
class AmpUiTest {
    @AfterEach
    void noServerIsLeft() throws Exception {
        UIServer.stopInstance();
    }

    private static AmpUi.Builder anyPort() {
        return AmpUi.builder().port(0);
    }

    private static PlanContent plan() {
        PrecisionPlan.Row row = new PrecisionPlan.Row(
                "dense",
                "DenseLayer",
                true,
                LayerKind.LOWER,
                Precision.HALF,
                Precision.HALF,
                Precision.HALF,
                "nd4j",
                "why");
        return new PlanContent(
                "MultiLayerNetwork", "nd4j", "scaler", false, new PrecisionPlan(Precision.HALF, "", List.of(row)));
    }

    private static StepContent step(int iteration, double loss) {
        NumberStatistics numbers = new NumberStatistics(DataType.HALF, 8, 0.25, 0.125, 0.5, 0, Double.NaN);
        return new StepContent(
                iteration,
                0,
                loss,
                0x1p20,
                iteration,
                1,
                List.of(new StepContent.Layer("dense", Optional.empty(), Optional.of(numbers), OptionalDouble.of(16))));
    }

    /** Puts a plan and two steps: at the times 1000 and 1001. */
    private static void put(StatsStorageRouter router, String session) {
        router.putStaticInfo(new StoredRecord(session, "worker", 999, plan()));
        router.putUpdate(new StoredRecord(session, "worker", 1000, step(0, Double.NaN)));
        router.putUpdate(new StoredRecord(session, "worker", 1001, step(1, 0.5)));
    }

    @Test
    void listsTheSessionsOfAllStoragesAndForgetsThoseThatAreDetached() {
        InMemoryStatsStorage first = new InMemoryStatsStorage();
        InMemoryStatsStorage second = new InMemoryStatsStorage();
        put(first, "session-1");
        try (AmpUi ui = anyPort().start().attach(first).attach(second)) {
            put(second, "session-2");
            second.putUpdate(new StoredRecord("session-2", "worker", 2000, step(2, 1)));
            assertEquals(List.of("session-2", "session-1"), Pages.sessions(ui.port()), "the last report first");
            ui.detach(second);
            assertEquals(List.of("session-1"), Pages.sessions(ui.port()));
            assertEquals(
                    new JsonArray(),
                    Pages.updates(ui.port(), "session-2", "worker", 0).getJsonArray("steps"));
        }
    }

    @Test
    void answersWithStepsThatJsonCanHold() {
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        put(storage, "session");
        try (AmpUi ui = anyPort().start().attach(storage)) {
            JsonObject all = Pages.updates(ui.port(), "session", "worker", 0);
            assertEquals(1001, all.getLong("last"));
            assertEquals(2, all.getJsonArray("steps").size());
            JsonObject first = all.getJsonArray("steps").getJsonObject(0);
            assertNull(first.getValue("loss"), "NaN");
            assertEquals(0x1p20, first.getDouble("lossScale"), "no digit is left out");
            JsonArray numbers = first.getJsonArray("gradients").getJsonArray(0);
            assertEquals(List.of(0.25, 0.125, 0.5, 0.0), numbers.getList().subList(0, 4));
            assertNull(numbers.getValue(4), "NaN");
            assertNull(first.getJsonArray("outputs").getValue(0));
            assertEquals(16, first.getJsonArray("scales").getDouble(0));
            assertEquals(
                    "dense",
                    all.getJsonObject("plan")
                            .getJsonArray("rows")
                            .getJsonObject(0)
                            .getString("name"));

            JsonObject news = Pages.updates(ui.port(), "session", "worker", 1000);
            assertEquals(1, news.getJsonArray("steps").size());
            assertNull(news.getJsonObject("plan"), "it's from before");
            JsonObject none = Pages.updates(ui.port(), "session", "worker", 1001);
            assertEquals(0, none.getJsonArray("steps").size());
            assertEquals(1001, none.getLong("last"));
        }
    }

    @Test
    void ofManyStepsSomeAreLeftOutEvenly() {
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        put(storage, "session");
        for (int i = 2; i < 1000; i++) {
            storage.putUpdate(new StoredRecord("session", "worker", 1000 + i, step(i, 1)));
        }
        try (AmpUi ui = anyPort().start().attach(storage)) {
            JsonArray steps = Pages.updates(ui.port(), "session", "worker", 0).getJsonArray("steps");
            assertEquals(250, steps.size(), "every fourth");
            assertEquals(999, steps.getJsonObject(249).getInteger("iteration"));
        }
    }

    @Test
    void isReachedFromThisMachineOnlyUnlessToldOtherwise() throws Exception {
        Optional<InetAddress> elsewhere = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
                .findFirst();
        assumeTrue(elsewhere.isPresent(), "no network");
        try (AmpUi ui = anyPort().start()) {
            assertEquals(200, Pages.get(ui.port(), "/mixedprecision").statusCode());
            assertThrows(ConnectException.class, () -> new Socket(elsewhere.get(), ui.port()).close());
        }
        try (AmpUi ui = anyPort().host("0.0.0.0").start()) {
            new Socket(elsewhere.get(), ui.port()).close();
        }
    }

    @Test
    void saysInOneLineWhereItIsAndForWhom() {
        Logger logger = (Logger) LoggerFactory.getLogger(AmpUi.class);
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        logger.addAppender(appender);
        try (AmpUi ui = anyPort().start()) {
            assertEquals("http://localhost:" + ui.port() + "/mixedprecision", ui.address());
            assertEquals(
                    List.of("Training UI with mixed precision: " + ui.address() + ", for this machine only"),
                    appender.list.stream()
                            .map(ILoggingEvent::getFormattedMessage)
                            .toList());
        } finally {
            logger.detachAppender(appender);
        }
    }

    @Test
    void aPortInUseIsNamedAndNothingIsLeft() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getByName("localhost"))) {
            AmpException error = assertThrows(
                    AmpException.class,
                    () -> AmpUi.builder().port(other.getLocalPort()).start());
            assertEquals(
                    "AmpUi.start: host(\"localhost\"), port(" + other.getLocalPort()
                            + "): the port is in use by another"
                            + " program; choose another, or port(0) for any free one",
                    error.getMessage());
            assertNull(VertxUIServer.getInstance());
            try (AmpUi ui = anyPort().start()) {
                assertNotEquals(other.getLocalPort(), ui.port());
            }
            assertNull(VertxUIServer.getInstance());
        }
    }

    @Test
    void anAddressOfAnotherMachineIsNamedAndNothingIsLeft() {
        AmpException error = assertThrows(
                AmpException.class, () -> anyPort().host("192.0.2.1").start());
        assertTrue(error.getMessage().startsWith("AmpUi.start: host(\"192.0.2.1\"), port(0): can't be listened on"));
        assertFalse(error.getMessage().contains("\n"), error.getMessage());
        assertNull(VertxUIServer.getInstance());
    }

    @Test
    void aSecondServerIsRefusedAndTheFirstGoesOn() {
        try (AmpUi ui = anyPort().start()) {
            AmpException error =
                    assertThrows(AmpException.class, () -> anyPort().start());
            assertTrue(error.getMessage().contains("http://localhost:" + ui.port()), error.getMessage());
            assertEquals(List.of(), Pages.sessions(ui.port()));
        }
    }

    @Test
    void badSettingsAreNamed() {
        assertRefused("port(70000)", () -> AmpUi.builder().port(70000));
        assertRefused("port(-1)", () -> AmpUi.builder().port(-1));
        assertRefused("host( )", () -> AmpUi.builder().host(" "));
        assertRefused("host(null)", () -> AmpUi.builder().host(null));
    }

    private static void assertRefused(String begin, Runnable work) {
        AmpException error = assertThrows(AmpException.class, work::run);
        assertTrue(error.getMessage().startsWith(begin), error.getMessage());
    }

    @Test
    void aFileThatIsNotThereIsNotFound() {
        try (AmpUi ui = anyPort().start()) {
            for (String path : List.of(
                    "/assets/none.js",
                    "/assets/webjars/none.js",
                    "/assets/css/",
                    "/assets/css",
                    "/assets/",
                    "/assets/a/../../x")) {
                assertEquals(404, Pages.get(ui.port(), path).statusCode(), path);
            }
            for (String path : List.of(
                    "/assets/css/style.css",
                    "/assets/mixedprecision/main.js",
                    "/assets/webjars/d3js/3.3.5/d3.min.js")) {
                assertEquals(200, Pages.get(ui.port(), path).statusCode(), path);
            }
        }
    }

    @Test
    void isLinkedFromDl4jsTabsInEachLanguage() {
        try (AmpUi ui = anyPort().start()) {
            for (String language : List.of("de", "ja", "ko", "ru", "zh", "en")) {
                Pages.get(ui.port(), "/setlang/" + language);
                String page = Pages.get(ui.port(), "/train/system").body();
                assertTrue(page.contains("href=\"mixedprecision\""), language);
            }
            assertEquals(
                    Optional.of("/mixedprecision"),
                    Pages.get(ui.port(), "/train/mixedprecision").headers().firstValue("location"));
        }
    }

    @Test
    void dl4jsOwnServerHasTheTabToo() {
        UIServer server = VertxUIServer.getInstance(0, true, null);
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        put(storage, "session");
        server.attach(storage);
        assertEquals(List.of("session"), Pages.sessions(server.getPort()));
        assertEquals(
                Optional.of("/mixedprecision?session=a+b%26c"),
                Pages.get(server.getPort(), "/train/a%20b&c/mixedprecision")
                        .headers()
                        .firstValue("location"));
    }

    /** DL4J ends the events of all tabs when a module throws an exception at one. */
    @Test
    void aStorageThatFailsEndsTheEventsOfNoOtherTab() throws Exception {
        InMemoryStatsStorage broken = new InMemoryStatsStorage() {
            @Override
            public long[] getAllUpdateTimes(String session, String type, String worker) {
                if (type.equals(StoredRecord.TYPE_ID)) {
                    throw new IllegalStateException("broken");
                }
                return super.getAllUpdateTimes(session, type, worker);
            }
        };
        try (AmpUi ui = anyPort().start().attach(broken)) {
            put(broken, "ours");
            assertEquals(500, Pages.get(ui.port(), "/mixedprecision/sessions").statusCode());
            var network = Training.network("one");
            network.setListeners(new StatsListener(broken, null, null, "theirs", "worker"));
            network.fit(Training.batch(1));
            Storages.await(
                    () -> Pages.get(ui.port(), "/train/sessions/info").body().contains("theirs"));
        }
    }
}
