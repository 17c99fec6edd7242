package org.dl4jamp.examples.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class HeldMemoryTest {
    /** As ND4J's CUDA backend 1.0.0-M1.1 describes two GPUs. */
    @Test
    void onCudaWhatIsntFreeIsHeld() {
        Properties environment = new Properties();
        environment.put(
                "cuda.devicesInformation",
                List.of(
                        Map.of("cuda.totalMemory", 150109880320L, "cuda.freeMemory", 148141899776L),
                        Map.of("cuda.totalMemory", 1000L, "cuda.freeMemory", 400L)));
        assertEquals(1967980544L, HeldMemory.givenOut(environment, 0));
        assertEquals(600, HeldMemory.givenOut(environment, 1));
    }
}
