package org.dl4jamp.install;

/** Something that takes the place of something of a network's own. */
interface Replacement {
    /** Takes the place. */
    void putIn();

    /** Gives it back for a while, after which {@link #putIn()} comes again. */
    void pause();

    /** Gives it back for good, in a pause or not. */
    void putBack();
}
