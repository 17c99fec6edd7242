package org.dl4jamp.dl4j;

import java.lang.reflect.Field;
import java.util.Set;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;

/** The maps that DL4J's recurrent layers keep their state in, between sequences and between the pieces of one. */
public final class RecurrentState {
    private static final Set<String> MAPS = Set.of("stateMap", "tBpttStateMap");

    private RecurrentState() {}

    /** Whether a field holds one. */
    public static boolean isIn(Field field) {
        return field.getDeclaringClass() == BaseRecurrentLayer.class && MAPS.contains(field.getName());
    }
}
