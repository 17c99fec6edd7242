package org.dl4jamp.spark;

import java.lang.reflect.Field;
import org.dl4jamp.precision.AmpException;

/** Access to fields of DL4J's classes that have no public way to them. */
final class NotPublic {
    private NotPublic() {}

    /**
     * Returns a field's value.
     *
     * @param object null for a static field
     * @throws AmpException if the class has no such field
     */
    static Object get(Class<?> type, Object object, String name) {
        try {
            return field(type, name).get(object);
        } catch (ReflectiveOperationException e) {
            throw otherRelease(e);
        }
    }

    /**
     * Sets a field's value.
     *
     * @param object null for a static field
     * @throws AmpException if the class has no such field
     */
    static void set(Class<?> type, Object object, String name, Object value) {
        try {
            field(type, name).set(object, value);
        } catch (ReflectiveOperationException e) {
            throw otherRelease(e);
        }
    }

    private static Field field(Class<?> type, String name) throws NoSuchFieldException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    static AmpException otherRelease(ReflectiveOperationException e) {
        return new AmpException(
                "dl4j-spark-parameterserver_2.12 and nd4j-parameter-server-node_2.12 aren't of release 1.0.0-M2, with"
                        + " which SparkAmp.listener() works: " + e,
                e);
    }
}
