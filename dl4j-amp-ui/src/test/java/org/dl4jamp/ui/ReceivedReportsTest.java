package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.json.JsonObject;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.core.storage.impl.RemoteUIStatsStorageRouter;
import org.deeplearning4j.ui.api.UIServer;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.ui.record.StoredRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reports that other programs send. */
class ReceivedReportsTest {
    @AfterEach
    void noServerIsLeft() throws Exception {
        UIServer.stopInstance();
    }

    private static AmpUi.Builder anyPort() {
        return AmpUi.builder().port(0);
    }

    @Test
    void takesReportsOfBothListenersFromElsewhere() throws Exception {
        try (AmpUi ui = anyPort().receive().start();
                RemoteUIStatsStorageRouter router = new RemoteUIStatsStorageRouter("http://localhost:" + ui.port())) {
            StatsListener stats = new StatsListener(router, null, null, "session", "worker");
            var network = Training.network("one");
            MixedPrecision.enable(network, Training.half(8, 100).build());
            network.setListeners(stats, MixedPrecisionStatsListener.beside(stats, 1));
            for (int i = 0; i < 3; i++) {
                network.fit(Training.batch(i));
            }
            Storages.await(() -> Pages.updates(ui.port(), "session", "worker", 0)
                            .getJsonArray("steps")
                            .size()
                    == 3);
            Storages.await(
                    () -> Pages.get(ui.port(), "/train/sessions/info").body().contains("session"));
        }
    }

    /** Its bytes would be deserialized by Java. */
    @Test
    void refusesReportsThatAreNotPlainData() {
        try (AmpUi ui = anyPort().receive().start()) {
            for (String type : List.of(
                    "org.deeplearning4j.ui.model.stats.impl.java.JavaStatsReport",
                    "org.deeplearning4j.ui.model.storage.impl.JavaStorageMetaData",
                    "java.lang.String")) {
                String report = new JsonObject(Map.of("type", "Update", "class", type, "data", "AAAA")).encode();
                assertEquals(
                        403, Pages.post(ui.port(), "/remoteReceive", report).statusCode(), type);
            }
            assertEquals(403, Pages.post(ui.port(), "/remoteReceive", "no JSON").statusCode());
            String garbage = new JsonObject(Map.of(
                            "type",
                            "Update",
                            "class",
                            StoredRecord.class.getName(),
                            "data",
                            Base64.getEncoder().encodeToString(new byte[] {1, 2, 3})))
                    .encode();
            Pages.post(ui.port(), "/remoteReceive", garbage);
            assertEquals(List.of(), Pages.sessions(ui.port()));
        }
    }

    @Test
    void withoutReceiveReportsFromElsewhereAreForbidden() {
        try (AmpUi ui = anyPort().start()) {
            String report = new JsonObject(Map.of("type", "Update", "class", StoredRecord.class.getName(), "data", ""))
                    .encode();
            assertEquals(403, Pages.post(ui.port(), "/remoteReceive", report).statusCode());
        }
    }
}
