package org.dl4jamp.policy;

import java.util.stream.IntStream;

/** Union-find over the integers from 0. */
final class DisjointSets {
    private final int[] parents;

    DisjointSets(int size) {
        parents = IntStream.range(0, size).toArray();
    }

    void union(int a, int b) {
        parents[find(a)] = find(b);
    }

    /** Returns the member that represents the set of {@code a}. */
    int find(int a) {
        while (parents[a] != a) {
            parents[a] = parents[parents[a]];
            a = parents[a];
        }
        return a;
    }
}
