package org.dl4jamp.benchmarks.tape;

/** An operation on the tape: made, it has put its forward primitives there. */
public interface Part {
    /** Returns its output. */
    Flow output();

    /** Puts the backward primitives on the tape, when those of all consumers of the output are there. */
    void backward();
}
