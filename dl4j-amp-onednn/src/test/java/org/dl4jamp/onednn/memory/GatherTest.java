package org.dl4jamp.onednn.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.bytedeco.javacpp.BytePointer;
import org.junit.jupiter.api.Test;

class GatherTest {
    private static byte[] gathered(Gather gather, byte... from) {
        try (BytePointer source = new BytePointer(from);
                BytePointer target = new BytePointer(gather.writes() + 1)) {
            target.fill(7);
            gather.run(source.address(), target.address());
            byte[] bytes = new byte[(int) gather.writes() + 1];
            target.get(bytes);
            return bytes;
        }
    }

    @Test
    void partsAndZerosAreOneBehindTheOther() {
        Gather gather = new Gather("some")
                .zeros(1)
                .zeros(1)
                .copy(3, 2)
                .copy(5, 1)
                .copy(0, 1)
                .zeros(1)
                .copy(1, 1);
        assertEquals(6, gather.reads());
        assertEquals(8, gather.writes());
        assertArrayEquals(
                new byte[] {0, 0, 13, 14, 15, 10, 0, 11, 7},
                gathered(gather, (byte) 10, (byte) 11, (byte) 12, (byte) 13, (byte) 14, (byte) 15));
    }

    @Test
    void zerosAloneReadNothing() {
        Gather zeros = new Gather("zeros").zeros(3);
        assertEquals(0, zeros.reads());
        assertArrayEquals(new byte[] {0, 0, 0, 7}, gathered(zeros));
    }

    @Test
    void nothingIsCopiedAtFirst() {
        assertArrayEquals(new byte[] {7}, gathered(new Gather("nothing")));
    }
}
