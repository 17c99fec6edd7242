package org.dl4jamp.dl4j;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.security.CodeSource;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.deeplearning4j.nn.layers.AbstractLayer;

/** Fields that users' classes of layers declare. */
public final class OwnFields {
    private static final String DL4J = "org.deeplearning4j.";

    private OwnFields() {}

    /**
     * Returns whether objects of a class keep state in fields that DL4J's classes don't have. A second object of the
     * class, which computes in another precision, would have a state of its own. Constants are no state.
     */
    public static boolean holdState(Class<?> type) {
        return Stream.<Class<?>>iterate(type, declaring -> declaring != Object.class, Class::getSuperclass)
                .filter(declaring -> !isDl4js(declaring))
                .flatMap(declaring -> Arrays.stream(declaring.getDeclaredFields()))
                .anyMatch(field -> !Modifier.isStatic(field.getModifiers()) && !isConstant(field));
    }

    private static boolean isConstant(Field field) {
        Class<?> type = field.getType();
        boolean value =
                type.isPrimitive() || type.isEnum() || type == String.class || Number.class.isAssignableFrom(type);
        return Modifier.isFinal(field.getModifiers()) && value;
    }

    // A user may have classes in DL4J's packages, and put DL4J's and his own into one file.
    private static boolean isDl4js(Class<?> type) {
        return type.getName().startsWith(DL4J) && Objects.equals(source(type), source(AbstractLayer.class));
    }

    private static CodeSource source(Class<?> type) {
        return type.getProtectionDomain().getCodeSource();
    }
}
