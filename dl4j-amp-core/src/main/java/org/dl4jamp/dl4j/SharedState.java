package org.dl4jamp.dl4j;

import java.util.AbstractMap;
import java.util.Map;
import java.util.Set;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The state of a recurrent layer between calls, which a network's own layer and a twin have in common. Notes that it
 * was read: a program that has read an array through either of the two may keep it, so that no later time step may
 * overwrite it.
 */
public final class SharedState extends AbstractMap<String, INDArray> {
    private final Map<String, INDArray> state;
    private volatile boolean read;

    private SharedState(Map<String, INDArray> state) {
        this.state = state;
    }

    /** Returns a view of a layer's map that notes reading, or the map itself if it is one. */
    public static SharedState of(Map<String, INDArray> state) {
        return state instanceof SharedState shared ? shared : new SharedState(state);
    }

    /** Returns an array of a layer's state for the computation of a time step, which doesn't keep it. */
    public static INDArray forTimeStep(Map<String, INDArray> state, String key) {
        return state instanceof SharedState shared ? shared.state.get(key) : state.get(key);
    }

    /** Returns whether arrays of a layer's state were read since this was asked last, other than for a time step. */
    public static boolean wasRead(Map<String, INDArray> state) {
        if (state instanceof SharedState shared && shared.read) {
            shared.read = false;
            return true;
        }
        return false;
    }

    @Override
    public Set<Map.Entry<String, INDArray>> entrySet() {
        read = true;
        return state.entrySet();
    }

    @Override
    public INDArray get(Object key) {
        read = true;
        return state.get(key);
    }

    @Override
    public INDArray put(String key, INDArray array) {
        return state.put(key, array);
    }

    @Override
    public INDArray remove(Object key) {
        read = true;
        return state.remove(key);
    }

    @Override
    public boolean containsKey(Object key) {
        return state.containsKey(key);
    }

    @Override
    public int size() {
        return state.size();
    }

    @Override
    public void clear() {
        state.clear();
    }
}
