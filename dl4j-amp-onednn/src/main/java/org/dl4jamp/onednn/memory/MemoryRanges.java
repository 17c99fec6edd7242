package org.dl4jamp.onednn.memory;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Parts of native memory, none of which overlaps another or ends where another begins. */
public final class MemoryRanges {
    private final NavigableMap<Long, Long> ends = new TreeMap<>();

    /** Adds a part of some bytes. */
    public void add(long begin, long bytes) {
        long from = begin;
        long to = begin + bytes;
        Map.Entry<Long, Long> other = ends.floorEntry(to);
        while (other != null && other.getValue() >= from) {
            from = Math.min(from, other.getKey());
            to = Math.max(to, other.getValue());
            ends.remove(other.getKey());
            other = ends.floorEntry(to);
        }
        ends.put(from, to);
    }

    /** Removes what there is of a part of some bytes. */
    public void remove(long begin, long bytes) {
        long end = begin + bytes;
        Map.Entry<Long, Long> other = ends.lowerEntry(end);
        while (other != null && other.getValue() > begin) {
            ends.remove(other.getKey());
            if (other.getValue() > end) {
                ends.put(end, other.getValue());
            }
            if (other.getKey() < begin) {
                ends.put(other.getKey(), begin);
            }
            other = ends.lowerEntry(end);
        }
    }

    /** Returns whether there is anything of a part of some bytes. */
    public boolean overlap(long begin, long bytes) {
        Map.Entry<Long, Long> range = ends.lowerEntry(begin + bytes);
        return range != null && range.getValue() > begin;
    }

    /** Returns whether a part of some bytes was added, in one part or several. */
    public boolean contain(long begin, long bytes) {
        Map.Entry<Long, Long> range = ends.floorEntry(begin);
        return range != null && range.getValue() >= begin + bytes;
    }

    /** Returns where the parts begin, and where they end. */
    public NavigableMap<Long, Long> ends() {
        return ends;
    }
}
