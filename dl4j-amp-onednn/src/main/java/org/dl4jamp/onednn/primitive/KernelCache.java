package org.dl4jamp.onednn.primitive;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.dl4jamp.onednn.array.Resources;

/** What was made for the shapes used last; what falls out is closed. */
public final class KernelCache<K, V extends AutoCloseable> implements AutoCloseable {
    private final int capacity;
    private final Map<K, V> entries = new LinkedHashMap<>(16, 0.75f, true);
    private K lastKey;
    private V last;

    public KernelCache(int capacity) {
        this.capacity = capacity;
    }

    public V get(K key, Supplier<V> maker) {
        // While shapes stay the same, it's the same one step after step.
        if (key.equals(lastKey)) {
            return last;
        }
        V found = entries.get(key);
        if (found == null) {
            found = maker.get();
            entries.put(key, found);
            if (entries.size() > capacity) {
                K oldest = entries.keySet().iterator().next();
                Resources.close(entries.remove(oldest));
            }
        }
        lastKey = key;
        last = found;
        return found;
    }

    @Override
    public void close() {
        entries.values().forEach(Resources::close);
        entries.clear();
        lastKey = null;
        last = null;
    }
}
