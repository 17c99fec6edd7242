package org.dl4jamp.onednn.memory;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/** Native memory that grows when more is needed and then holds something else. Begins at a page. */
public final class AlignedMemory implements AutoCloseable {
    private static final int ALIGNMENT = 4096;
    private static final int CACHE_LINE = 64;

    private static final LongAdder HELD = new LongAdder();
    private static final Cleaner CLEANER = Cleaner.create();

    private final AtomicLong bytes = new AtomicLong();
    private BytePointer content = new BytePointer(0L);

    /** Makes one that holds nothing. Of one that is dropped with its network JavaCPP frees the content. */
    public AlignedMemory() {
        CLEANER.register(this, forgetting(bytes));
    }

    private static Runnable forgetting(AtomicLong bytes) {
        return () -> HELD.add(-bytes.getAndSet(0));
    }

    /** Returns how many bytes are held in this process. */
    public static long held() {
        return HELD.sum();
    }

    /** Returns the bytes of an array in an order, as a multiple of a cache line. */
    public static long bytes(memory.desc order) {
        return bytes(order.get_size());
    }

    /** Returns a number of bytes as a multiple of a cache line. */
    public static long bytes(long number) {
        return (number + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }

    /** Makes sure that there is enough. */
    public void reserve(long atLeast) {
        if (atLeast > bytes.get()) {
            close();
            content = new BytePointer(atLeast + ALIGNMENT).retainReference();
            bytes.set(atLeast);
            HELD.add(atLeast);
        }
    }

    public void clear() {
        Pointer.memset(new Handle().at(address()), 0, bytes.get());
    }

    public long address() {
        return (content.address() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    @Override
    public void close() {
        content.deallocate();
        HELD.add(-bytes.getAndSet(0));
    }
}
