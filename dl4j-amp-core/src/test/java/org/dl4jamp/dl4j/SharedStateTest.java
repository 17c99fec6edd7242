package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** States of recurrent layers that note who reads them. */
class SharedStateTest {
    private final Map<String, INDArray> own = new ConcurrentHashMap<>();
    private final SharedState shared = SharedState.of(own);
    private final INDArray array = Nd4j.ones(DataType.FLOAT, 2);

    static Stream<Consumer<Map<String, INDArray>>> readers() {
        return Stream.of(
                HashMap::new,
                map -> map.get("h"),
                map -> map.getOrDefault("h", null),
                map -> map.values().forEach(value -> {}),
                map -> map.forEach((name, value) -> {}),
                map -> map.remove("h"),
                map -> map.computeIfPresent("h", (name, value) -> value));
    }

    @ParameterizedTest
    @MethodSource("readers")
    void whoeverGetsAnArrayIsNotedOnce(Consumer<Map<String, INDArray>> reader) {
        shared.put("h", array);
        assertFalse(SharedState.wasRead(shared));
        reader.accept(shared);
        assertTrue(SharedState.wasRead(shared));
        assertFalse(SharedState.wasRead(shared));
    }

    @Test
    void whatWritesOrComputesIsNot() {
        shared.put("h", array);
        shared.putAll(Map.of("c", array));
        assertSame(array, SharedState.forTimeStep(shared, "h"));
        assertTrue(shared.containsKey("c"));
        assertEquals(2, shared.size());
        shared.clear();
        assertTrue(shared.isEmpty());
        assertNull(SharedState.forTimeStep(shared, "h"));
        assertFalse(SharedState.wasRead(shared));
    }

    @Test
    void theMapItselfHasTheSameState() {
        own.put("h", array);
        assertSame(array, shared.get("h"));
        shared.put("c", array);
        assertSame(array, own.get("c"));
        assertSame(shared, SharedState.of(shared));
        assertSame(array, SharedState.forTimeStep(own, "h"));
        assertFalse(SharedState.wasRead(own));
    }
}
