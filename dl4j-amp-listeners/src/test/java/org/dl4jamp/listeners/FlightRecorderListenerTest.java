package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

class FlightRecorderListenerTest {
    @Test
    void aRecordingHasTheFiguresOfEachReport(@TempDir Path folder) throws IOException {
        MultiLayerNetwork network = SmallNetwork.of(new Sgd(0.1));
        FlightRecorderListener listener = new FlightRecorderListener(2);
        assertFalse(listener.isRead());
        network.setListeners(listener);
        Path file = folder.resolve("x.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("org.dl4jamp.Step");
            recording.start();
            for (int i = 0; i < 4; i++) {
                network.fit(Nd4j.zeros(DataType.FLOAT, 2, 4), Nd4j.eye(2));
            }
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("org.dl4jamp.Step"))
                .toList();
        assertEquals(2, events.size());
        assertEquals(network.score(), events.get(1).getDouble("loss"));
        assertEquals(Double.NaN, events.get(1).getDouble("lossScale"));
        assertFalse(listener.isRead());
    }
}
