package org.dl4jamp.onednn;

import org.bytedeco.javacpp.BytePointer;

/** Memory that kernels share, whose content is worth nothing once a kernel has run. It's as large as the largest that any asked for. */
final class Scratch implements AutoCloseable {
    private static final int ALIGNMENT = 4096;

    private BytePointer memory = new BytePointer(0L);
    private long bytes;

    /** Makes sure that it's large enough. */
    void reserve(long wanted) {
        if (wanted > bytes) {
            memory.deallocate();
            memory = new BytePointer(wanted + ALIGNMENT).retainReference();
            bytes = wanted;
        }
    }

    long address() {
        return (memory.address() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    @Override
    public void close() {
        memory.deallocate();
        bytes = 0;
    }
}
