package org.dl4jamp.layer.standin;

import java.lang.reflect.Field;
import org.dl4jamp.twin.Substitute;
import org.objenesis.ObjenesisStd;
import org.objenesis.instantiator.ObjectInstantiator;

/** A class made at run time, and how its objects are made: without a constructor, which would set up a second layer. */
final class StandInClass {
    private final ObjectInstantiator<?> instantiator;
    private final Field wrapper;
    private final Field master;
    private final Field sharedFields;
    private final SharedFields.OfClass fields;

    /**
     * @param made has the fields of {@link StandInBytes}
     * @param fields those of the layer's class, which it extends
     */
    StandInClass(Class<?> made, SharedFields.OfClass fields) throws NoSuchFieldException {
        // Without its cache, which would keep classes from being unloaded.
        instantiator = new ObjenesisStd(false).getInstantiatorOf(made);
        wrapper = made.getField(StandInBytes.WRAPPER);
        master = made.getField(StandInBytes.MASTER);
        sharedFields = made.getField(StandInBytes.FIELDS);
        this.fields = fields;
    }

    Object create(Substitute<?> substitute) {
        Object standIn = instantiator.newInstance();
        try {
            wrapper.set(standIn, substitute);
            master.set(standIn, substitute.master());
            sharedFields.set(standIn, fields.share(standIn, substitute.master(), substitute.computing()));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return standIn;
    }
}
