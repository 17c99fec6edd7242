package org.dl4jamp.layer.standin;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.dl4jamp.dl4j.RecurrentStateMaps;

/**
 * Keeps the fields that a user's class of layers declares the same in a stand-in and the master. Reads and writes of
 * fields can't be intercepted, so before and after each call a value that has changed in one of them is copied to the
 * other.
 *
 * <p>If another layer of that class computes in the master's place, its numbers, truth values, texts and constants are
 * shared, too. Arrays, which may be parameters of another precision, and objects that may hold some aren't.
 *
 * <p>DL4J's own classes need none of this, because in DL4J only a layer itself reads its fields. The state of DL4J's
 * recurrent layers is in maps that methods of users' subclasses may read: all have the same maps.
 */
public final class SharedFields {
    private static final String DL4J = "org.deeplearning4j.";

    private final List<Field> fields;
    private final Object[] holders;
    private final Object[] values;

    private SharedFields(List<Field> fields, Object... holders) {
        this.fields = fields;
        this.holders = holders;
        this.values = fields.stream().map(field -> get(field, holders[0])).toArray();
    }

    /** The fields of a class. */
    static final class OfClass {
        private final Class<?> type;
        private final List<Field> all = new ArrayList<>();
        private final List<Field> state = new ArrayList<>();
        private final List<Field> variables = new ArrayList<>();

        OfClass(Class<?> type) {
            this.type = type;
            for (Class<?> declaring = type; declaring != Object.class; declaring = declaring.getSuperclass()) {
                for (Field field : declaring.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())) {
                        field.setAccessible(true);
                        add(field);
                    }
                }
            }
        }

        private void add(Field field) {
            all.add(field);
            if (RecurrentStateMaps.isIn(field)) {
                state.add(field);
            } else if (!Modifier.isFinal(field.getModifiers()) && !isDl4js(field.getDeclaringClass())) {
                variables.add(field);
            }
        }

        /** Returns whether there are fields to look at around each call. */
        boolean isTold() {
            return !variables.isEmpty();
        }

        /**
         * Gives a new stand-in the master's fields, all of them, for code of their class that isn't reached by calls.
         *
         * @param computing computes in the master's place, or is the master
         */
        SharedFields share(Object standIn, Object master, Object computing) {
            copy(all, master, standIn);
            if (BaseRecurrentLayer.class.isInstance(computing)) {
                copy(state, computing, standIn);
                copy(state, computing, master);
            }
            if (computing == master || !type.isInstance(computing)) {
                return new SharedFields(variables, standIn, master);
            }
            copy(variables.stream().filter(SharedFields::isValue).toList(), master, computing);
            return new SharedFields(variables, standIn, master, computing);
        }

        // A user may have classes in DL4J's packages, and put DL4J's and his own into one file.
        private static boolean isDl4js(Class<?> type) {
            return type.getName().startsWith(DL4J) && Objects.equals(source(type), source(AbstractLayer.class));
        }

        private static CodeSource source(Class<?> type) {
            return type.getProtectionDomain().getCodeSource();
        }

        private static void copy(List<Field> fields, Object from, Object to) {
            for (Field field : fields) {
                set(field, to, get(field, from));
            }
        }
    }

    /** Gives values that have changed in one of the holders to the others. */
    public void settle() {
        for (int i = 0; i < values.length; i++) {
            Field field = fields.get(i);
            int taking = isValue(field) ? holders.length : 2;
            int changed = 0;
            while (changed < taking && isSame(field, values[i], get(field, holders[changed]))) {
                changed++;
            }
            if (changed < taking) {
                values[i] = get(field, holders[changed]);
                for (int holder = 0; holder < taking; holder++) {
                    set(field, holders[holder], values[i]);
                }
            }
        }
    }

    private static boolean isValue(Field field) {
        Class<?> type = field.getType();
        return type.isPrimitive() || type.isEnum() || type == String.class || Number.class.isAssignableFrom(type);
    }

    // Of objects it's the very one that counts, and numbers come in a new object each time.
    @SuppressWarnings("ReferenceEquality")
    private static boolean isSame(Field field, Object before, Object now) {
        return field.getType().isPrimitive() ? before.equals(now) : before == now;
    }

    private static Object get(Field field, Object holder) {
        try {
            return field.get(holder);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void set(Field field, Object holder, Object value) {
        try {
            field.set(holder, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
