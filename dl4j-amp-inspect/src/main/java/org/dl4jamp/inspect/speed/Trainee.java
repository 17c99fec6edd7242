package org.dl4jamp.inspect.speed;

/** A network in training. */
interface Trainee extends AutoCloseable {
    /** Trains one step with a batch of its task. */
    void step(Task.Size size);

    @Override
    void close();
}
