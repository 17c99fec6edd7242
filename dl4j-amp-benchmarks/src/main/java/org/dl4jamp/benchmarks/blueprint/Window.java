package org.dl4jamp.benchmarks.blueprint;

/** The window of a convolution or pooling: its size, its stride, and zeros on either side, along height and width. */
public record Window(int height, int width, int strideY, int strideX, int padY, int padX) {
    /** Returns the same window with more zeros on either side. */
    public Window padded(int y, int x) {
        return new Window(height, width, strideY, strideX, padY + y, padX + x);
    }

    /** Places along the height. */
    public long outputHeight(long inputHeight) {
        return (inputHeight + 2L * padY - height) / strideY + 1;
    }

    /** Places along the width. */
    public long outputWidth(long inputWidth) {
        return (inputWidth + 2L * padX - width) / strideX + 1;
    }
}
