package org.dl4jamp.inspect.drawing;

import java.awt.Font;
import java.awt.FontMetrics;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import org.dl4jamp.inspect.plan.NetworkPlan;
import org.dl4jamp.inspect.plan.NetworkPlan.Layer;
import org.dl4jamp.precision.Precision;

/** Colours, sizes and styles of a drawing, in the notation of mxGraph. */
enum Look {
    HALF("#cfe4fa", "#3b78b5"),
    /** Computes in FP32 on activations that are kept in half precision. */
    FLOAT_ON_HALF("#e6e0f4", "#7d68ad"),
    FLOAT("#fae8c8", "#b98530"),
    INPUT("#ffffff", "#707070");

    /** A list, so that SVG viewers find one. Java takes its own sans-serif font, which is wider than those. */
    static final String FONTS = "Helvetica,Arial,sans-serif";

    static final int FONT_SIZE = 11;
    static final int ROW_HEIGHT = 20;
    static final int PADDING = 8;
    static final String CAST = "rounded=1;arcSize=50;fillColor=#c8402f;strokeColor=#c8402f;" + text("center", 11)
            + "fontStyle=1;fontColor=#ffffff";
    static final String EDGE = "strokeColor=#606060;endArrow=classic;endSize=5;strokeWidth=1.2;rounded=1";
    static final String CAST_EDGE = "strokeColor=#c8402f;endArrow=classic;endSize=5;strokeWidth=1.6;rounded=1";
    static final String FUSED = "fillColor=#2e8b57;strokeColor=none";

    private static final FontMetrics PLAIN = metrics(Font.PLAIN);
    private static final FontMetrics BOLD = metrics(Font.BOLD);

    private final String fill;
    private final String line;

    Look(String fill, String line) {
        this.fill = fill;
        this.line = line;
    }

    static Look of(Layer layer) {
        if (layer.precision().isHalf()) {
            return HALF;
        }
        return layer.output().isHalf() ? FLOAT_ON_HALF : FLOAT;
    }

    /** Returns the style of a filled box. */
    String box() {
        return "fillColor=" + fill + ";strokeColor=" + line + ";strokeWidth=1;" + text("center", FONT_SIZE);
    }

    /** Returns the style of a text without a box, with an alignment of mxGraph's. */
    static String text(String align, int size) {
        return "fontFamily=" + FONTS + ";fontSize=" + size + ";fontColor=#202020;align=" + align
                + ";verticalAlign=middle;spacingTop=3;";
    }

    /** Returns the style of a text in a cell that isn't drawn itself. */
    static String label(String align, int size) {
        return "fillColor=none;strokeColor=none;spacingLeft=0;spacingRight=0;" + text(align, size);
    }

    static String name(Precision precision) {
        return precision == Precision.FLOAT ? "FP32" : precision.toString();
    }

    /** Returns the text of the legend. */
    String meaning(NetworkPlan plan) {
        String half = name(plan.precision());
        return switch (this) {
            case HALF -> "computes in " + half;
            case FLOAT_ON_HALF -> "computes in FP32, activations in " + half;
            case FLOAT -> "computes in FP32";
            case INPUT -> "input";
        };
    }

    /** Returns the width of a text in pixels. */
    static int width(String text) {
        return PLAIN.stringWidth(text);
    }

    static int boldWidth(String text) {
        return BOLD.stringWidth(text);
    }

    private static FontMetrics metrics(int style) {
        Graphics2D graphics = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB).createGraphics();
        try {
            return graphics.getFontMetrics(new Font(FONTS, style, FONT_SIZE));
        } finally {
            graphics.dispose();
        }
    }
}
