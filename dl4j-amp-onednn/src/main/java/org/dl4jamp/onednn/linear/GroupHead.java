package org.dl4jamp.onednn.linear;

import java.util.Optional;
import org.dl4jamp.onednn.twin.GroupSum;

/** A twin that can compute a whole group of layers in inference. */
public interface GroupHead {
    ProductPasses passes();

    /**
     * Has it compute a group.
     *
     * @param sum the summand before the activation function; null for none
     * @param place number of the memory where the result may go
     */
    default void lead(GroupSum sum, Optional<Integer> place) {
        passes().lead(sum, place);
    }
}
