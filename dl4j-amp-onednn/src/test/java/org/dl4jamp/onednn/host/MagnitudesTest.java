package org.dl4jamp.onednn.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class MagnitudesTest {
    @Property(tries = 60)
    void theLargestMagnitudeIsThatOfNd4j(@ForAll long seed, @ForAll @IntRange(min = 1, max = 150_000) int pairs) {
        Nd4j.getRandom().setSeed(seed);
        Random random = new Random(seed);
        for (DataType type : List.of(DataType.FLOAT, DataType.BFLOAT16)) {
            INDArray array = Nd4j.randn(DataType.FLOAT, 2L * pairs).castTo(type);
            array.putScalar(random.nextInt(2 * pairs), random.nextBoolean() ? -9 : 9);
            assertEquals(OptionalDouble.of(9), Magnitudes.largest(array));
            float[] bad = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY};
            array.putScalar(random.nextInt(2 * pairs), bad[random.nextInt(3)]);
            assertFalse(Double.isFinite(Magnitudes.largest(array).orElseThrow()));
        }
    }

    /** Few numbers are read in another way than many. */
    @Property(tries = 60)
    void aPartOfAnArrayHasTheLargestOfItsOwnNumbers(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 1100) int rows) {
        Nd4j.getRandom().setSeed(seed);
        int first = new Random(seed).nextInt(3);
        try (MemoryWorkspace open = Nd4j.getWorkspaceManager().getAndActivateWorkspace("magnitudes")) {
            INDArray whole = Nd4j.randn(DataType.FLOAT, rows + 3L, 2).muli(100);
            INDArray part = whole.get(NDArrayIndex.interval(first, first + rows));
            assertEquals(
                    part.amaxNumber().floatValue(), Magnitudes.largest(part).orElseThrow());
            part.putScalar(rows - 1, 1, Float.NaN);
            assertTrue(Double.isNaN(Magnitudes.largest(part).orElseThrow()));
        }
    }

    @Property(tries = 40)
    void theLargestMagnitudeIsFoundInAnyOrderOfAxes(@ForAll long seed) {
        Nd4j.getRandom().setSeed(seed);
        Random random = new Random(seed);
        List<Integer> axes = new ArrayList<>(List.of(0, 1, 2, 3));
        Collections.shuffle(axes, random);
        for (DataType type : List.of(DataType.FLOAT, DataType.BFLOAT16)) {
            INDArray whole = Nd4j.randn(DataType.FLOAT, 3, 1 + random.nextInt(3), 5, 4)
                    .castTo(type)
                    .permute(axes.stream().mapToInt(Integer::intValue).toArray());
            long[] place = new long[4];
            Arrays.setAll(place, axis -> random.nextInt((int) whole.size(axis)));
            whole.putScalar(place, -9);
            assertEquals(OptionalDouble.of(9), Magnitudes.largest(whole));
        }
    }

    @Test
    void ofArraysThatItDoesNotReadNoMagnitudeIsKnown() {
        List<INDArray> others = new ArrayList<>();
        others.add(Nd4j.rand(DataType.DOUBLE, 10));
        others.add(Nd4j.rand(DataType.FLOAT, 4, 6).getColumn(2));
        others.add(Nd4j.rand(DataType.FLOAT, 4, 6, 5).permute(2, 0, 1).get(NDArrayIndex.interval(0, 2)));
        others.add(
                Nd4j.rand(DataType.FLOAT, 1, 6).broadcast(4, 6).get(NDArrayIndex.all(), NDArrayIndex.interval(1, 3)));
        others.add(Nd4j.rand(DataType.FLOAT, 7).castTo(DataType.BFLOAT16));
        others.forEach(other -> assertTrue(Magnitudes.largest(other).isEmpty(), other.dataType()::toString));
    }
}
