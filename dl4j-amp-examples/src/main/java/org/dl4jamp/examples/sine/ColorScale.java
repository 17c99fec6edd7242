package org.dl4jamp.examples.sine;

import java.awt.Color;

/**
 * Colours (those of the scale viridis) for values from 0 to 1 that grow in brightness, so that they also read in grey.
 */
final class ColorScale {
    private static final Color[] STOPS = {
        new Color(0x440154), new Color(0x3b528b), new Color(0x21918c), new Color(0x5ec962), new Color(0xfde725)
    };

    private ColorScale() {}

    /** Returns the colour of a value as 0xRRGGBB; values outside 0..1 take the nearest end, NaN takes red. */
    static int rgb(float value) {
        if (Float.isNaN(value)) {
            return Color.RED.getRGB();
        }
        float position = Math.max(0, Math.min(1, value)) * (STOPS.length - 1);
        int below = Math.min((int) position, STOPS.length - 2);
        float part = position - below;
        Color a = STOPS[below];
        Color b = STOPS[below + 1];
        return new Color(
                        mix(a.getRed(), b.getRed(), part),
                        mix(a.getGreen(), b.getGreen(), part),
                        mix(a.getBlue(), b.getBlue(), part))
                .getRGB();
    }

    private static int mix(int a, int b, float part) {
        return Math.round(a + part * (b - a));
    }
}
