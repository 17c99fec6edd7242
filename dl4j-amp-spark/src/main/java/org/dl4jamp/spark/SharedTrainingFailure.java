package org.dl4jamp.spark;

import java.lang.reflect.Field;
import java.util.Optional;
import org.deeplearning4j.spark.parameterserver.pw.SharedTrainingWrapper;

/**
 * What {@code fit} has thrown in this executor's task of shared gradients. DL4J catches it, keeps it in a field for tasks that wait, and goes on as if it had ended; there's no public way to it.
 */
final class SharedTrainingFailure {
    private SharedTrainingFailure() {}

    /** Empty if there was none, if another task has begun since, or if DL4J is of a release that keeps it elsewhere. */
    static Optional<Throwable> last() {
        try {
            Object wrapper = field("INSTANCE").get(null);
            return Optional.ofNullable((Throwable) field("exception").get(wrapper));
        } catch (ReflectiveOperationException e) {
            return Optional.empty();
        }
    }

    private static Field field(String name) throws NoSuchFieldException {
        Field field = SharedTrainingWrapper.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
