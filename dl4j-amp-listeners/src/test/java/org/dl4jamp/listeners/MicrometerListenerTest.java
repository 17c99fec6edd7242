package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

class MicrometerListenerTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    private double gauge(String name) {
        return registry.get(name).tag("network", "small").gauge().value();
    }

    @Test
    void metersHaveTheLastFigures() {
        MicrometerListener listener = new MicrometerListener(registry, 1, "network", "small");
        assertEquals(Double.NaN, gauge("dl4jamp.loss"));
        listener.report(LinesTest.FIGURES);
        assertEquals(0.5, gauge("dl4jamp.loss"));
        assertEquals(32768, gauge("dl4jamp.loss.scale"));
        assertEquals(0.01235, gauge("dl4jamp.iteration.time"));
        assertEquals(5183.4, gauge("dl4jamp.examples.per.second"));
        assertEquals(1204L << 20, gauge("dl4jamp.memory"));
        assertEquals(197, registry.get("dl4jamp.steps.taken").functionCounter().count());
        assertEquals(3, registry.get("dl4jamp.steps.skipped").functionCounter().count());
        listener.report(LinesTest.WITHOUT);
        assertEquals(Double.NaN, gauge("dl4jamp.loss.scale"));
    }

    @Test
    void metersFollowANetwork() {
        MultiLayerNetwork network = SmallNetwork.of(new Sgd(0.1));
        network.setListeners(new MicrometerListener(registry, 2, "network", "small"));
        network.fit(Nd4j.zeros(DataType.FLOAT, 2, 4), Nd4j.eye(2));
        assertEquals(Double.NaN, gauge("dl4jamp.loss"));
        network.fit(Nd4j.zeros(DataType.FLOAT, 2, 4), Nd4j.eye(2));
        assertEquals(network.score(), gauge("dl4jamp.loss"));
    }

    @Test
    void aRegistryIsNeeded() {
        AmpException e = assertThrows(AmpException.class, () -> new MicrometerListener(null, 1));
        assertTrue(e.getMessage().startsWith("registry"), e.getMessage());
    }
}
