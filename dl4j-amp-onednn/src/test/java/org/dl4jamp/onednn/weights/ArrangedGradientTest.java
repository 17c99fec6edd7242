package org.dl4jamp.onednn.weights;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.bytedeco.dnnl.memory;
import org.junit.jupiter.api.Test;

class ArrangedGradientTest {
    private static memory.desc floats(memory.format_tag order, long... shape) {
        return new memory.desc(shape, memory.data_type.f32, order);
    }

    @Test
    void makesColumnsOfSquaresForWeightsAlongOneTwoAndThreeAxes() {
        record Pair(memory.desc weights, memory.desc columns) {}
        for (Pair pair : List.of(
                new Pair(floats(memory.format_tag.ABc16b16a, 32, 48, 3), floats(memory.format_tag.Abc16a, 32, 48, 3)),
                new Pair(
                        floats(memory.format_tag.ABcd16b16a, 32, 20, 3, 5),
                        floats(memory.format_tag.Abcd16a, 32, 20, 3, 5)),
                new Pair(
                        floats(memory.format_tag.ABcde16b16a, 17, 48, 3, 1, 2),
                        floats(memory.format_tag.Abcde16a, 17, 48, 3, 1, 2)))) {
            memory.desc columns = ArrangedGradient.columns(pair.weights()).orElseThrow();
            // Optional's equals would compare the Java objects.
            assertTrue(pair.columns().equals(columns));
        }
    }

    @Test
    void leavesOtherOrdersAlone() {
        assertEquals(Optional.empty(), ArrangedGradient.columns(floats(memory.format_tag.abcd, 32, 48, 3, 3)));
        assertEquals(Optional.empty(), ArrangedGradient.columns(floats(memory.format_tag.ABcd16a16b, 32, 48, 3, 3)));
        assertEquals(Optional.empty(), ArrangedGradient.columns(floats(memory.format_tag.ab, 32, 48)));
    }
}
