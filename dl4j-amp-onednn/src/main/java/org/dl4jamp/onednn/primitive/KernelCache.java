package org.dl4jamp.onednn.primitive;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.dl4jamp.onednn.memory.Resources;

/**
 * The kernels for the shapes used last. Kernels that fall out are closed.
 *
 * <p>A primitive is planned for the OpenMP threads of the thread that makes it. That number differs among the threads
 * that use a network: replicas share the processor, the program's main thread uses all of it. Each thread gets the
 * kernels for its number.
 */
public final class KernelCache<K, V extends AutoCloseable> implements AutoCloseable {
    /** The shapes of its input that a twin keeps primitives for. */
    public static final int SHAPES = 16;

    private final int capacity;
    private final Map<Planned<K>, V> entries = new LinkedHashMap<>(16, 0.75f, true);

    private record Planned<K>(K key, int threads) {}

    public KernelCache(int capacity) {
        this.capacity = capacity;
    }

    public V get(K key, Supplier<V> maker) {
        Planned<K> planned = new Planned<>(key, Work.threads());
        V found = entries.get(planned);
        if (found == null) {
            found = maker.get();
            entries.put(planned, found);
            if (entries.size() > capacity) {
                Planned<K> oldest = entries.keySet().iterator().next();
                Resources.close(entries.remove(oldest));
            }
        }
        return found;
    }

    @Override
    public void close() {
        entries.values().forEach(Resources::close);
        entries.clear();
    }
}
