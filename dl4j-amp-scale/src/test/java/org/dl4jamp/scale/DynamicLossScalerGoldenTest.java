package org.dl4jamp.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Replays what PyTorch's own {@code _amp_update_scale_} made of random sequences of overflows. The resource is written
 * by the program in {@code src/test/pytorch}; the command is in its pom.xml.
 */
class DynamicLossScalerGoldenTest {
    @Test
    void scaleAndGrowthTrackerFollowPyTorchBitForBit() throws IOException {
        int cases = 0;
        int overflows = 0;
        DynamicLossScaler scaler = null;
        int steps = 0;
        for (String line : golden()) {
            String[] fields = line.split(" ", -1);
            if (fields[0].equals("case")) {
                cases++;
                steps = 0;
                scaler = DynamicLossScaler.builder()
                        .initialScale(Double.parseDouble(fields[1]))
                        .growthFactor(Double.parseDouble(fields[2]))
                        .backoffFactor(Double.parseDouble(fields[3]))
                        .growthInterval(Integer.parseInt(fields[4]))
                        .minScale(Float.MIN_NORMAL)
                        .maxScale(Float.MAX_VALUE)
                        .build();
            } else if (fields[0].equals("steps")) {
                steps += finiteSteps(scaler, Integer.parseInt(fields[1]) - steps, scaler.scale());
            } else {
                int step = Integer.parseInt(fields[0]);
                steps += finiteSteps(scaler, step - steps, scaler.scale());
                boolean overflow = fields[1].equals("1");
                scaler.update(overflow);
                steps++;
                overflows += overflow ? 1 : 0;
                assertEquals(Float.parseFloat(fields[2]), (float) scaler.scale(), () -> "scale after step " + line);
                assertEquals(
                        Integer.parseInt(fields[3]),
                        scaler.state().growthTracker(),
                        () -> "growth tracker after step " + line);
            }
        }
        assertEquals(7, cases);
        assertTrue(overflows > 500, "overflows: " + overflows);
    }

    private static int finiteSteps(DynamicLossScaler scaler, int count, double expectedScale) {
        for (int i = 0; i < count; i++) {
            scaler.update(false);
            assertEquals(expectedScale, scaler.scale());
        }
        return count;
    }

    private static List<String> golden() throws IOException {
        List<String> lines = new ArrayList<>();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                DynamicLossScalerGoldenTest.class.getResourceAsStream("amp_update_scale.txt"),
                StandardCharsets.US_ASCII))) {
            reader.lines().filter(line -> !line.startsWith("#")).forEach(lines::add);
        }
        return lines;
    }
}
