package org.dl4jamp.onednn.primitive;

/** What the twins have in common. */
public final class Twins {
    /** For how many shapes of its input a twin keeps its primitives. */
    public static final int SHAPES = 16;

    private Twins() {}
}
