package org.dl4jamp.spark;

import java.lang.reflect.Constructor;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.spark.parameterserver.pw.SharedTrainingWrapper;
import org.nd4j.parameterserver.distributed.v2.ModelParameterServer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Access to the executor's {@link SharedTrainingWrapper}, DL4J's singleton that trains with the data of its tasks.
 * There is no public way to what is needed of it. Only the task whose {@link Turn} it is may call this.
 */
final class SharedWrapper {
    private static final Logger LOG = LoggerFactory.getLogger(SparkAmp.class);

    private SharedWrapper() {}

    /** Returns whether this executor has DL4J's classes for shared gradients. */
    static boolean isPresent() {
        try {
            Class.forName(
                    "org.deeplearning4j.spark.parameterserver.pw.SharedTrainingWrapper",
                    false,
                    Thread.currentThread().getContextClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Returns what {@code fit} has thrown in the task. DL4J catches it, keeps it for tasks that wait, and goes on. */
    static Optional<Throwable> failure() {
        return Optional.ofNullable((Throwable) get("exception"));
    }

    /** Returns the network that lives on in this executor, empty before the first task. */
    static Optional<Model> network() {
        return Optional.ofNullable((Model) get("originalModel"));
    }

    /** Forgets the data of an earlier task of the calling thread. */
    static void forgetData() {
        batches().remove();
    }

    /** Returns whether the calling thread has brought data since {@link #forgetData()}. */
    static boolean hasData() {
        return batches().get() != null;
    }

    private static ThreadLocal<?> batches() {
        return (ThreadLocal<?>) get("iteratorDataSetCount");
    }

    /**
     * Lets another task train after one that has ended outside of {@code fit}. DL4J has no way out of that: each later
     * task, Spark's retry too, would wait for the ended one for ever. The network stays, with its connections, if they
     * were made.
     */
    static void repairAfterTask() {
        if (!((AtomicBoolean) get("isFirst")).get()) {
            return;
        }
        SharedTrainingWrapper fresh = newWrapper();
        boolean isConnected = get("accumulator") != null
                && network().isPresent()
                && ModelParameterServer.getInstance().isInitialized();
        if (!isConnected) {
            ServerLaunch.removeFailed();
        }
        // The iterators of the ended task are left behind, and with them what its thread may still bring.
        List<String> kept = isConnected ? List.of("accumulator", "originalModel", "consumer", "wrapper") : List.of();
        for (String name : kept) {
            NotPublic.set(SharedTrainingWrapper.class, fresh, name, get(name));
        }
        NotPublic.set(SharedTrainingWrapper.class, null, "INSTANCE", fresh);
        LOG.warn(
                "A task of shared gradients ended before DL4J trained with its data, or after it. The next task"
                        + " begins with {}",
                isConnected ? "the executor's network" : "a new network");
    }

    private static SharedTrainingWrapper newWrapper() {
        try {
            Constructor<SharedTrainingWrapper> constructor = SharedTrainingWrapper.class.getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        } catch (ReflectiveOperationException e) {
            throw NotPublic.otherRelease(e);
        }
    }

    private static Object get(String name) {
        Object wrapper = NotPublic.get(SharedTrainingWrapper.class, null, "INSTANCE");
        return NotPublic.get(SharedTrainingWrapper.class, wrapper, name);
    }
}
