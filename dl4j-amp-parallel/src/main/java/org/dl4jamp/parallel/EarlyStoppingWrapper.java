package org.dl4jamp.parallel;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.deeplearning4j.parallelism.EarlyStoppingParallelTrainer;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.dl4jamp.precision.AmpException;

/** Reads the wrapper that DL4J's early stopping trainer builds for itself and keeps in a private field. */
final class EarlyStoppingWrapper {
    private static final VarHandle WRAPPER = field();

    private EarlyStoppingWrapper() {}

    private static VarHandle field() {
        Class<?> owner = EarlyStoppingParallelTrainer.class;
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup())
                    .findVarHandle(owner, "wrapper", ParallelWrapper.class);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "This version of DL4J isn't supported: " + owner.getName() + " has no wrapper", e);
        }
    }

    /**
     * Returns the wrapper of a trainer.
     *
     * @throws AmpException if the trainer has none, because its training is over
     */
    static ParallelWrapper of(EarlyStoppingParallelTrainer<?> trainer) {
        AmpException.ifNull(trainer, "trainer", "an EarlyStoppingParallelTrainer");
        ParallelWrapper wrapper = (ParallelWrapper) WRAPPER.get(trainer);
        if (wrapper == null) {
            throw new AmpException("trainer: its training is over, and it has no wrapper any more; build another"
                    + " EarlyStoppingParallelTrainer");
        }
        return wrapper;
    }
}
