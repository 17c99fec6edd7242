package org.dl4jamp.layer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class IntervalsTest {
    private final INDArray array = Nd4j.createFromArray(0f, 1, 2, 3, 4, 5, 6, 7).reshape(1, 8);

    private static Intervals of(long... bounds) {
        Intervals intervals = new Intervals();
        for (int i = 0; i < bounds.length; i += 2) {
            intervals.add(bounds[i], bounds[i + 1]);
        }
        return intervals;
    }

    private List<String> views(Intervals intervals) {
        return intervals.of(array).stream()
                .map(view -> java.util.Arrays.toString(view.toFloatVector()))
                .toList();
    }

    @Test
    void neighboursAreJoined() {
        assertEquals(List.of("[1.0, 2.0, 3.0, 4.0]"), views(of(1, 2, 2, 4, 4, 5)));
    }

    @Test
    void gapsStay() {
        assertEquals(List.of("[0.0, 1.0]", "[3.0, 4.0, 5.0]"), views(of(0, 2, 3, 4, 4, 6)));
    }

    @Test
    void intervalsWithoutParametersAreLeftOut() {
        assertEquals(List.of(), views(of()));
        assertEquals(List.of(), views(of(3, 3)));
        assertEquals(List.of("[0.0, 1.0, 2.0]"), views(of(0, 0, 0, 1, 1, 1, 1, 3)));
        assertEquals(List.of("[0.0]", "[5.0]"), views(of(0, 1, 4, 4, 5, 6)));
    }

    @Test
    void whatIsReturnedAreViews() {
        of(2, 4).of(array).get(0).assign(9);
        assertArrayEquals(new float[] {0, 1, 9, 9, 4, 5, 6, 7}, array.toFloatVector());
    }
}
