package org.dl4jamp.onednn.twin;

import org.dl4jamp.twin.Casting;

/** A twin that takes its input in another order in memory than DL4J's own layers. */
public interface OwnCasting {
    /** Returns the casts of its input and output. */
    Casting casting();
}
