package org.dl4jamp.benchmarks.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Profile.Part;
import org.junit.jupiter.api.Test;

class KernelTableTest {
    @Test
    void eachKernelHasARowAndTheRestIsBetweenThem() {
        Map<String, Profile> sides = new LinkedHashMap<>();
        sides.put(
                "one",
                new Profile(
                        10e-3,
                        List.of(
                                new Part("b", "3×3", 4e-3, 2),
                                new Part("a", "3×3", 3e-3, 1),
                                new Part("c", "softmax", 0.01e-3, 1),
                                new Part("c", "copies", 0.02e-3, 1))));
        sides.put(
                "two", new Profile(8e-3, List.of(new Part("Conv", "3×3", 7.5e-3, 4), new Part("x", "1×1", 0.1e-3, 1))));
        assertEquals("""
                | kernel                   | times |    one |   two | implementations of one |
                | ------------------------ | ----: | -----: | ----: | ---------------------- |
                | 3×3                      |   3/4 |  7.000 | 7.500 | a, b                   |
                | 1×1                      |   0/1 |        | 0.100 |                        |
                | others, each below 0.5 % |   2/0 |  0.030 |       | c                      |
                | all kernels              |       |  7.030 | 7.600 |                        |
                | between them             |       |  2.970 | 0.400 |                        |
                | a pass                   |       | 10.000 | 8.000 |                        |
                """, KernelTable.of(sides, "pass"));
    }
}
