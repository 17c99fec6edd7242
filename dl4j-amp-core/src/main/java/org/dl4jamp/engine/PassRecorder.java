package org.dl4jamp.engine;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Notes what an engine does in a pass in inference, from the network's input on, so that all of it can be done again at
 * once for another input.
 *
 * <p>To be used by one thread at a time.
 */
public interface PassRecorder {
    /** A noted part of a pass. */
    interface Recording extends AutoCloseable {
        /**
         * Does again what was noted, for another input. Results are written to the same arrays.
         *
         * @param workspaceMgr of the first layer
         * @return whether it was done: not if memory, kernels or the kind of pass have changed since
         */
        boolean repeat(INDArray input, LayerWorkspaceMgr workspaceMgr);

        /**
         * Does the same in a pass without DL4J, in which nobody but the caller gets activations.
         *
         * @param takesRows whether each example may be a row of the same numbers, in order {@code c}
         */
        boolean repeat(INDArray input, boolean takesRows);

        @Override
        void close();
    }

    /** Returns whether DL4J gives a layer's activations to the next layers, and to nobody else. */
    boolean isHandedOn(LayerWorkspaceMgr workspaceMgr);

    /**
     * Begins to note what the calling thread does. Does nothing while another thread's pass is noted, or where results
     * don't stay in memory of the engine's.
     *
     * @param input of the first layer
     * @param workspaceMgr of the first layer
     * @return whether it has begun
     */
    boolean begin(INDArray input, LayerWorkspaceMgr workspaceMgr);

    /**
     * Takes note that a layer is done.
     *
     * @param result of the layer
     * @return whether everything up to here can be done again. What was noted has made the result of nothing but the
     *     input and numbers that stay, in memory that stays
     */
    boolean covers(INDArray result);

    /** Returns whether two arrays have the same numbers in the same memory, whatever the objects. */
    boolean areSame(INDArray one, INDArray other);

    /**
     * Ends it. Returns what was noted up to the last layer covered; empty if there is none.
     *
     * @param read results of layers that are read after the last one covered. What nobody reads any more needn't be
     *     there after a pass is repeated
     */
    Optional<Recording> end(List<INDArray> read);

    /** Ends it, and forgets what was noted. */
    void cancel();
}
