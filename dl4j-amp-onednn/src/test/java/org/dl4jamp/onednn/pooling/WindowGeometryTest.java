package org.dl4jamp.onednn.pooling;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.dl4jamp.onednn.pooling.WindowGeometry.Axis;
import org.junit.jupiter.api.Test;

class WindowGeometryTest {
    /** Returns the number of windows as oneDNN computes it. */
    private static long windows(long size, Axis axis) {
        long reach = (axis.kernel() - 1) * (axis.gap() + 1) + 1;
        return (size - reach + axis.before() + axis.after()) / axis.stride() + 1;
    }

    @Test
    void everySoManyWindowIsOneOfAll() {
        Random random = new Random(5);
        for (int run = 0; run < 2000; run++) {
            long kernel = random.nextLong(1, 5);
            long gap = random.nextInt(2);
            long before = random.nextLong(kernel);
            long after = random.nextLong(kernel);
            long stride = random.nextLong(1, 3);
            long size = (kernel - 1) * (gap + 1) + 1 + random.nextInt(12);
            Axis shape = new Axis(kernel, stride, gap, before, after, 0);
            Axis all = new Axis(kernel, stride, gap, before, after, windows(size, shape));
            long every = random.nextLong(1, 5);
            WindowGeometry geometry = new WindowGeometry(List.of(all), false);
            Axis some = geometry.every(List.of(every)).axes().get(0);
            assertEquals((all.output() - 1) / every + 1, some.output());
            if (geometry.isPointwise()) {
                assertEquals(new Axis(1, 1, 0, 0, 0, some.output()), some, "over these positions alone");
            } else {
                assertEquals(stride * every, some.stride());
                assertEquals(some.output(), windows(size, some), () -> all + " of " + size + ", each " + every);
                assertTrue(some.before() == before && some.after() <= after);
            }
        }
    }

    @Test
    void positionsAreWindowsOfOne() {
        WindowGeometry positions = WindowGeometry.positions(new long[] {7, 8}, List.of(2L, 3L));
        assertEquals(List.of(new Axis(1, 2, 0, 0, 0, 4), new Axis(1, 3, 0, 0, 0, 3)), positions.axes());
        assertEquals(List.of(2L, 3L), positions.steps());
        assertTrue(positions.isPointwise());
        assertEquals(
                List.of(new Axis(1, 1, 0, 0, 0, 4), new Axis(1, 1, 0, 0, 0, 3)),
                positions.withoutSteps().axes());
    }

    @Test
    void windowsThatCoverNumbersAreThoseThatDo() {
        Random random = new Random(8);
        for (int run = 0; run < 2000; run++) {
            long size = random.nextLong(1, 6);
            long kernel = random.nextLong(1, 4);
            long gap = random.nextLong(2);
            long before = random.nextLong(4);
            long after = random.nextLong(4);
            Axis shape = new Axis(kernel, 1, gap, before, after, 0);
            if (size + before + after <= (kernel - 1) * (gap + 1)) {
                continue;
            }
            Axis axis = new Axis(kernel, 1, gap, before, after, windows(size, shape));
            boolean each = LongStream.range(0, axis.output()).allMatch(window -> LongStream.range(0, kernel)
                    .map(number -> window - before + number * (gap + 1))
                    .anyMatch(at -> at >= 0 && at < size));
            boolean said = new WindowGeometry(List.of(axis), false).eachCoversNumbers();
            assertTrue(each || !said, () -> axis + " of " + size);
            assertTrue(gap > 0 || each == said, () -> axis + " of " + size);
        }
    }
}
