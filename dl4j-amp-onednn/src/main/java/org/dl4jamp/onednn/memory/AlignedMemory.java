package org.dl4jamp.onednn.memory;

import java.util.concurrent.atomic.LongAdder;
import org.bytedeco.javacpp.BytePointer;

/** Native memory that grows when more is needed and then holds something else. Begins at a page. */
public final class AlignedMemory implements AutoCloseable {
    private static final int ALIGNMENT = 4096;

    private static final LongAdder HELD = new LongAdder();

    private BytePointer memory = new BytePointer(0L);
    private long bytes;

    /** Returns how many bytes are held in this process. */
    public static long held() {
        return HELD.sum();
    }

    /** Makes sure that there is enough. */
    public void reserve(long atLeast) {
        if (atLeast > bytes) {
            close();
            memory = new BytePointer(atLeast + ALIGNMENT).retainReference();
            bytes = atLeast;
            HELD.add(bytes);
        }
    }

    public long address() {
        return (memory.address() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    @Override
    public void close() {
        memory.deallocate();
        HELD.add(-bytes);
        bytes = 0;
    }
}
