package org.dl4jamp.install;

/** A reversible replacement of one layer or vertex. */
interface Replacement {
    /** Takes the place. */
    void putIn();

    /** Gives it back for a while, after which {@link #putIn()} comes again. */
    default void pause() {
        putBack();
    }

    /** Gives it back for good, in a pause or not. */
    void putBack();
}
