package org.dl4jamp.examples.sine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ColorScaleTest {
    @Test
    void endsAreTheScalesEndsAndValuesBeyondThemTakeThem() {
        assertEquals(0xff440154, ColorScale.rgb(0));
        assertEquals(0xfffde725, ColorScale.rgb(1));
        assertEquals(ColorScale.rgb(0), ColorScale.rgb(-5));
        assertEquals(ColorScale.rgb(1), ColorScale.rgb(Float.POSITIVE_INFINITY));
    }

    @Test
    void valueThatIsNotANumberIsRed() {
        assertEquals(0xffff0000, ColorScale.rgb(Float.NaN));
    }
}
