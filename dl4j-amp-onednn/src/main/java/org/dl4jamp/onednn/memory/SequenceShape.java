package org.dl4jamp.onednn.memory;

/**
 * The sizes of a recurrent layer and of the sequences that it's given. In memory the time steps of a sequence follow
 * each other, each of them {@code [minibatch, size]}: so one product covers all of them, and a single one is
 * contiguous.
 *
 * @param minibatch the number of sequences
 * @param steps their length
 * @param nIn the size of the input of a time step
 * @param units the size of the output of a time step
 * @param gates how many numbers a unit computes of its input: 4 for an LSTM
 */
public record SequenceShape(long minibatch, long steps, long nIn, long units, int gates) {
    /** Returns the number of time steps of all sequences. */
    public long rows() {
        return minibatch * steps;
    }

    /** Returns how many numbers one gate has in one time step. */
    public long block() {
        return minibatch * units;
    }

    /** Returns how many numbers one gate has in all time steps. */
    public long gate() {
        return rows() * units;
    }

    /** Returns the size of all gates of a time step. */
    public long columns() {
        return gates * units;
    }

    @Override
    public String toString() {
        return minibatch + " sequences of " + steps + " time steps, " + nIn + " to " + units;
    }
}
