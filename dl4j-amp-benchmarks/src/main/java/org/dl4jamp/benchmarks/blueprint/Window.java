package org.dl4jamp.benchmarks.blueprint;

/**
 * The window of a convolution or pooling along height and width.
 *
 * @param height its size along the height
 * @param width its size along the width
 * @param strideY rows from one place to the next
 * @param strideX columns from one place to the next
 * @param padding zeros around the input
 */
public record Window(int height, int width, int strideY, int strideX, Padding padding) {
    /** Zeros before the first and behind the last row and column. */
    public record Padding(int top, int left, int bottom, int right) {
        /** None. */
        public static final Padding NONE = even(0, 0);

        /** Returns as many zeros on either side. */
        public static Padding even(int y, int x) {
            return new Padding(y, x, y, x);
        }

        /** Returns those above and on the left, as oneDNN takes them. */
        public long[] before() {
            return new long[] {top, left};
        }

        /** Returns those below and on the right, as oneDNN takes them. */
        public long[] after() {
            return new long[] {bottom, right};
        }

        /** Returns whether both sides have as many. */
        public boolean bothSidesAlike() {
            return top == bottom && left == right;
        }
    }

    /** Returns the same window with more zeros on either side. */
    public Window padded(int y, int x) {
        Padding more = new Padding(padding.top() + y, padding.left() + x, padding.bottom() + y, padding.right() + x);
        return new Window(height, width, strideY, strideX, more);
    }

    /** Places along the height. */
    public long outputHeight(long inputHeight) {
        return (inputHeight + padding.top() + padding.bottom() - height) / strideY + 1;
    }

    /** Places along the width. */
    public long outputWidth(long inputWidth) {
        return (inputWidth + padding.left() + padding.right() - width) / strideX + 1;
    }
}
