package org.dl4jamp.onednn;

/** What the twins have in common. */
final class Twins {
    /** For how many shapes of its input a twin keeps its primitives. */
    static final int SHAPES = 16;

    private Twins() {}
}
