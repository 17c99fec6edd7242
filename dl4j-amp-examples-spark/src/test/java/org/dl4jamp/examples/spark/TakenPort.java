package org.dl4jamp.examples.spark;

import org.apache.spark.TaskContext;
import org.nd4j.parameterserver.distributed.v2.transport.PortSupplier;

/** A port that executors can't open in the first attempts of their tasks, because another process has it. */
final class TakenPort implements PortSupplier {
    private static final long serialVersionUID = 1L;

    private final int port;
    private final int attempts;
    private final FreePort free = new FreePort();

    /**
     * Says a port that is taken.
     *
     * @param port one that the driver's process has opened
     * @param attempts in how many attempts of a task; free ports follow
     */
    TakenPort(int port, int attempts) {
        this.port = port;
        this.attempts = attempts;
    }

    @Override
    public int getPort() {
        TaskContext task = TaskContext.get();
        return task == null || task.attemptNumber() >= attempts ? free.getPort() : port;
    }
}
