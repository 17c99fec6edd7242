package org.dl4jamp.examples.sine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class SineGridTest {
    @Test
    void coordinatesGoFromZeroToOneAlongColumnsAndRows() {
        SineGrid grid = SineGrid.ofSize(5);
        assertArrayEquals(new long[] {1, 2, 5, 5}, grid.coordinates().shape());
        assertEquals(0.25, grid.coordinates().getDouble(0, 0, 3, 1), 0);
        assertEquals(0.75, grid.coordinates().getDouble(0, 1, 3, 1), 0);
        assertEquals(1, grid.coordinates().getDouble(0, 0, 4, 4), 0);
        assertEquals(0, grid.coordinates().getDouble(0, 1, 0, 4), 0);
    }

    /**
     * On a grid of 17 points x grows by 1/16: cos(2π·4·x) runs through 1, 0, -1, 0. cos(2π·2·y) runs through 1, √½, 0,
     * -√½, -1 and back. Sums from -2 to 2 are cut at -1, 0 and 1.
     */
    @Test
    void targetFollowsTheFormula() {
        SineGrid grid = SineGrid.ofSize(17);
        assertArrayEquals(new long[] {1, 1, 17, 17}, grid.target().shape());
        assertEquals(1, grid.target().getDouble(0, 0, 0, 0), 0, "1 + 1 = 2, the largest value");
        assertEquals(0, grid.target().getDouble(0, 0, 4, 2), 0, "-1 - 1 = -2, the smallest value");
        assertEquals(2 / 3., grid.target().getDouble(0, 0, 1, 1), 1e-7, "0 + 0.71 is between 0 and 1");
        assertEquals(1 / 3., grid.target().getDouble(0, 0, 1, 2), 1e-7, "-1 + 0.71 is between -1 and 0");
        assertEquals(1, grid.target().getDouble(0, 0, 1, 4), 0, "1 + 0.71 is above 1");
        assertEquals(0, grid.target().getDouble(0, 0, 3, 2), 0, "-1 - 0.71 is below -1");
    }

    @Test
    void targetHasFourLevelsFromZeroToOne() {
        TreeSet<Float> levels = new TreeSet<>();
        for (float value : SineGrid.ofSize(32).target().dup().data().asFloat()) {
            levels.add(value);
        }
        assertEquals(new TreeSet<>(List.of(0f, 1 / 3f, 2 / 3f, 1f)), levels);
    }
}
