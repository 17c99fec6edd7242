package org.dl4jamp.onednn.linear;

import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The numbers of an input that a kernel multiplies. */
interface InputSamples extends AutoCloseable {
    /** Returns their layout. */
    Layout layout();

    /** Returns where those of an input are until the next kernel has run. */
    Place take(INDArray input);

    /** Returns where their gradient is to be written before {@link #spread}. */
    Place gradient(INDArray inputGradient);

    /** Puts their gradient where they were taken from, and zeros everywhere else. */
    void spread(INDArray inputGradient);

    @Override
    void close();
}
