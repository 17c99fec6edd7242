package org.dl4jamp.onednn.memory;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Memory for activations that several layers in a row pass through unchanged. In DL4J's workspaces each layer would
 * have to copy them, because DL4J closes a workspace after the next layer. These are outside of workspaces, where DL4J
 * passes arrays on as they are. Each inference thread has numbered places of its own.
 *
 * <p>To be used by one thread at a time.
 */
public final class ActivationMemory {
    /** Arrays of different layouts that a place keeps. */
    private static final int LAYOUTS = 64;

    /** The beginning of the names of workspaces that DL4J closes when the next layer is done. */
    private static final String OF_A_LAYER = "WS_LAYER_ACT_";

    /** The bytes of one place, as numbers of one type. */
    private static final class Numbers {
        private final Map<Layout, INDArray> arrays = new HashMap<>();
        private INDArray all;

        INDArray array(DataType type, Layout layout) {
            INDArray known = arrays.get(layout);
            if (known != null) {
                return known;
            }
            if (all == null || all.length() < layout.length()) {
                arrays.clear();
                try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                    all = Nd4j.createUninitialized(type, layout.length());
                }
            }
            if (arrays.size() == LAYOUTS) {
                arrays.clear();
            }
            INDArray array = ArrayShapes.array(all.data(), layout);
            arrays.put(layout, array);
            return array;
        }

        boolean holds(long address) {
            return all != null && Workspaces.address(all) == address;
        }
    }

    private final Map<Thread, List<Map<DataType, Numbers>>> places = new WeakHashMap<>();

    /**
     * Returns an array with arbitrary content: in a place if DL4J would close the workspace of activations, else in
     * that workspace. The network's output is outside of workspaces.
     */
    public INDArray array(int place, Layout layout, LayerWorkspaceMgr workspaceMgr) {
        if (!closesEarly(workspaceMgr)) {
            return Workspaces.in(workspaceMgr, ArrayType.ACTIVATIONS, layout);
        }
        List<Map<DataType, Numbers>> own = places.computeIfAbsent(Thread.currentThread(), thread -> new ArrayList<>());
        while (own.size() <= place) {
            own.add(new HashMap<>());
        }
        return own.get(place)
                .computeIfAbsent(layout.type(), type -> new Numbers())
                .array(layout.type(), layout);
    }

    private static boolean closesEarly(LayerWorkspaceMgr workspaceMgr) {
        return workspaceMgr.hasConfiguration(ArrayType.ACTIVATIONS)
                && !workspaceMgr.isScopedOut(ArrayType.ACTIVATIONS)
                && workspaceMgr.getWorkspaceName(ArrayType.ACTIVATIONS).startsWith(OF_A_LAYER);
    }

    /**
     * Returns whether an array has to be copied. It has to be if it's in a place and becomes the network's output,
     * which a program may keep. It also has to be if DL4J closes its workspace after the layer.
     */
    public boolean endsEarly(INDArray array, LayerWorkspaceMgr workspaceMgr) {
        return closesEarly(workspaceMgr) ? array.isAttached() : !array.isAttached() && isInAPlace(array);
    }

    private boolean isInAPlace(INDArray array) {
        long address = Workspaces.address(array);
        return places.getOrDefault(Thread.currentThread(), List.of()).stream()
                .flatMap(place -> place.values().stream())
                .anyMatch(numbers -> numbers.holds(address));
    }
}
