package org.dl4jamp.onednn;

import org.bytedeco.javacpp.BytePointer;

/** Native memory that grows when more is needed and then holds something else. Begins at a page. */
final class AlignedMemory implements AutoCloseable {
    private static final int ALIGNMENT = 4096;

    private BytePointer memory = new BytePointer(0L);
    private long bytes;

    /** Makes sure that there is enough. */
    void reserve(long atLeast) {
        if (atLeast > bytes) {
            memory.deallocate();
            memory = new BytePointer(atLeast + ALIGNMENT).retainReference();
            bytes = atLeast;
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
