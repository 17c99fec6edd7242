package org.dl4jamp.layer.standin;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.dl4jamp.twin.Substitute;
import org.objenesis.ObjenesisStd;
import org.objenesis.instantiator.ObjectInstantiator;

/** A class made at run time, and how its objects are made: without a constructor, which would set up a second layer. */
final class StandInClass {
    private final ObjectInstantiator<?> instantiator;
    private final Field wrapper;
    private final Field master;
    private final List<Field> mastersFields = new ArrayList<>();

    /**
     * @param made has the fields of {@link StandInBytes}
     * @param type the layer's class, which it extends
     */
    StandInClass(Class<?> made, Class<?> type) throws NoSuchFieldException {
        // Without its cache, which would keep classes from being unloaded.
        instantiator = new ObjenesisStd(false).getInstantiatorOf(made);
        wrapper = made.getField(StandInBytes.WRAPPER);
        master = made.getField(StandInBytes.MASTER);
        for (Class<?> declaring = type; declaring != Object.class; declaring = declaring.getSuperclass()) {
            for (Field field : declaring.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    mastersFields.add(field);
                }
            }
        }
    }

    /** Makes a stand-in with the master's fields, for code of their class that isn't reached by calls. */
    Object create(Substitute<?> substitute) {
        Object standIn = instantiator.newInstance();
        try {
            wrapper.set(standIn, substitute);
            master.set(standIn, substitute.master());
            for (Field field : mastersFields) {
                field.set(standIn, field.get(substitute.master()));
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return standIn;
    }
}
