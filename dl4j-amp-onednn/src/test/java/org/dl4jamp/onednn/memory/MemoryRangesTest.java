package org.dl4jamp.onednn.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MemoryRangesTest {
    @Test
    void partsThatTouchAreOne() {
        MemoryRanges ranges = new MemoryRanges();
        ranges.add(10, 5);
        ranges.add(20, 5);
        assertFalse(ranges.contain(10, 15));
        ranges.add(15, 5);
        assertTrue(ranges.contain(10, 15));
        assertEquals(Map.of(10L, 25L), ranges.ends());
    }

    @Test
    void theyContainWhatASetOfBytesContains() {
        Random random = new Random(7);
        for (int run = 0; run < 200; run++) {
            MemoryRanges ranges = new MemoryRanges();
            BitSet bytes = new BitSet();
            for (int i = 0; i < 12; i++) {
                int begin = random.nextInt(60);
                int length = 1 + random.nextInt(8);
                boolean adds = random.nextInt(3) > 0;
                if (adds) {
                    ranges.add(begin, length);
                } else {
                    ranges.remove(begin, length);
                }
                bytes.set(begin, begin + length, adds);
            }
            for (int begin = 0; begin < 70; begin++) {
                for (int length = 1; length < 10; length++) {
                    int number = bytes.get(begin, begin + length).cardinality();
                    String what = begin + " " + length + " " + ranges.ends();
                    assertEquals(number == length, ranges.contain(begin, length), what);
                    assertEquals(number > 0, ranges.overlap(begin, length), what);
                }
            }
        }
    }
}
