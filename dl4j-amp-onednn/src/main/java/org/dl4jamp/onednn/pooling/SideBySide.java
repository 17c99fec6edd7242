package org.dl4jamp.onednn.pooling;

import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A copy of images in memory that a network's kernels share. There a position of all images comes before the next
 * position. So rows of the images are one long row, {@code [1, channels, height, width * minibatch]}.
 */
public final class SideBySide implements AutoCloseable {
    private final OneDnnContext context;
    private final Kernel copy;
    private final long offset;

    private SideBySide(OneDnnContext context, Kernel copy, Layout images, long offset) {
        this.context = context;
        this.copy = copy;
        this.offset = offset;
        context.staging().reserve(offset + bytes(images));
    }

    private static long bytes(Layout images) {
        return images.length() * images.type().width();
    }

    /**
     * Makes the copy that a kernel reads, within {@link OneDnnContext#make}.
     *
     * @param images the layout of the images, their channels last in memory
     */
    public static SideBySide read(OneDnnContext context, String what, Layout images) {
        Kernel copy = context.copies()
                .make(
                        what,
                        positions(images, false).descriptor(),
                        positions(images, true).descriptor());
        return new SideBySide(context, copy, images, 0);
    }

    /**
     * Makes the copy that a kernel writes, within {@link OneDnnContext#make}.
     *
     * @param input the layout of the images that the kernel reads, whose copy is in the same memory
     */
    public static SideBySide written(OneDnnContext context, String what, Layout images, Layout input) {
        Kernel copy = context.copies()
                .make(
                        what,
                        positions(images, true).descriptor(),
                        positions(images, false).descriptor());
        return new SideBySide(context, copy, images, AlignedMemory.bytes(bytes(input)));
    }

    /** Returns how kernels see images. */
    public static Layout seen(Layout images) {
        long[] shape = images.shape();
        return Layout.channelsLast(images.type(), 1, shape[1], shape[2], shape[3] * shape[0]);
    }

    /** Returns the layout {@code [minibatch, positions, channels]} of images, or of their copy. */
    private static Layout positions(Layout images, boolean copy) {
        long[] shape = images.shape();
        long channels = shape[1];
        long positions = shape[2] * shape[3];
        return Layout.strided(
                images.type(),
                new long[] {shape[0], positions, channels},
                copy ? channels : positions * channels,
                copy ? shape[0] * channels : channels,
                1);
    }

    /** Returns where the copy is until the next kernel has run. */
    public Place place() {
        return Place.kept(context.staging().address() + offset);
    }

    /** Copies images, and returns where the copy is. */
    public Place take(INDArray images) {
        copy.copy(Place.of(images), place());
        return place();
    }

    /** Copies to the images. */
    public void give(INDArray images) {
        copy.copy(place(), Place.of(images));
    }

    @Override
    public void close() {
        copy.close();
    }
}
