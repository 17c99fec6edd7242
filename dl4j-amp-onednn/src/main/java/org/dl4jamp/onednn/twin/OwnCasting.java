package org.dl4jamp.onednn.twin;

import org.dl4jamp.twin.Casting;

/** A twin that wants what it's given in another order in memory than DL4J's own layers. */
public interface OwnCasting {
    /** Returns how its input gets into its type, and what it returns out of it. */
    Casting casting();
}
