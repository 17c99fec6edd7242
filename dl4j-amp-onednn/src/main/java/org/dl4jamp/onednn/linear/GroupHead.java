package org.dl4jamp.onednn.linear;

import java.util.Optional;
import org.dl4jamp.onednn.twin.GroupSum;

/** A twin that can compute, in inference, what a group of layers computes. */
public interface GroupHead {
    ProductPasses passes();

    /**
     * Has it compute a group.
     *
     * @param sum what is added before the activation function; null for nothing
     * @param place number of the memory where the result may go
     */
    default void lead(GroupSum sum, Optional<Integer> place) {
        passes().lead(sum, place);
    }
}
