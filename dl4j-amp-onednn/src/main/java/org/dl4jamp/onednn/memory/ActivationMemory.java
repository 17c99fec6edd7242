package org.dl4jamp.onednn.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.cpu.nativecpu.NDArray;
import org.nd4j.linalg.cpu.nativecpu.buffer.LongBuffer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Memory for activations that several layers in a row pass through unchanged. In DL4J's workspaces each layer would
 * have to copy them, because DL4J closes a workspace after the next layer. Each inference thread has numbered places of
 * its own.
 *
 * <p>In a graph, arrays in places are outside of workspaces, where DL4J passes them on as they are. A network of layers
 * in a row requires each layer's own workspace, by its name: there each layer has an array of that name over the same
 * memory.
 *
 * <p>To be used by one thread at a time.
 */
public final class ActivationMemory {
    /** The place before all numbered ones, for results that are copied at their layer's turn. */
    private static final int PASSING = -1;

    /** Arrays of different layouts and names that a place keeps. */
    private static final int LAYOUTS = 64;

    /** The beginning of the names of workspaces that DL4J closes when the next layer is done. */
    private static final String OF_A_LAYER = "WS_LAYER_ACT_";

    /** An array that DL4J finds in a layer's workspace, and that stays where it is when the next layer reads it. */
    // ND4J's own class overrides methods of variable arity by others.
    @SuppressWarnings("overrides")
    private static final class Lasting extends NDArray {
        private static final long serialVersionUID = 1L;

        private transient INDArray reshaped;

        Lasting(INDArray array) {
            super(array.data(), (LongBuffer) array.shapeInfoDataBuffer(), array.shapeInfoJava());
        }

        @Override
        public INDArray leverageTo(String id, boolean enforceExistence) {
            return id.startsWith(OF_A_LAYER) ? this : super.leverageTo(id, enforceExistence);
        }

        /** DL4J's preprocessors between layers ask for the same shape in each pass. */
        @Override
        public INDArray reshape(char order, long... wanted) {
            if (reshaped != null && order == 'c' && Arrays.equals(reshaped.shape(), wanted)) {
                return reshaped;
            }
            boolean dense = order == 'c' && Layout.dense(dataType(), shape()).isThatOf(this);
            boolean sameLength = Arrays.stream(wanted).allMatch(size -> size > 0)
                    && Arrays.stream(wanted).reduce(1, Math::multiplyExact) == length();
            if (!dense || !sameLength) {
                return super.reshape(order, wanted);
            }
            reshaped = new Lasting(ArrayShapes.array(data(), Layout.dense(dataType(), wanted.clone())));
            return reshaped;
        }
    }

    /** @param workspace that DL4J finds it in; empty for none */
    private record Kind(Layout layout, Optional<String> workspace) {}

    /** The bytes of one place, as numbers of one type. */
    private static final class Numbers {
        private final Map<Kind, INDArray> arrays = new HashMap<>();
        private INDArray all;

        INDArray array(Kind kind) {
            INDArray known = arrays.get(kind);
            if (known != null) {
                return known;
            }
            Layout layout = kind.layout();
            if (all == null || all.length() < layout.length()) {
                arrays.clear();
                try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                    all = Nd4j.createUninitialized(layout.type(), layout.length());
                }
            }
            if (arrays.size() == LAYOUTS) {
                arrays.clear();
            }
            INDArray array = kind.workspace()
                    .map(name -> lasting(name, layout))
                    .orElseGet(() -> ArrayShapes.array(all.data(), layout));
            arrays.put(kind, array);
            return array;
        }

        private INDArray lasting(String name, Layout layout) {
            INDArray memory = all;
            return new Lasting(Workspaces.in(
                    new MemoryAsWorkspace(name, () -> new Handle().at(Workspaces.address(memory))), layout));
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
        while (own.size() <= place - PASSING) {
            own.add(new HashMap<>());
        }
        return own.get(place - PASSING)
                .computeIfAbsent(layout.type(), type -> new Numbers())
                .array(new Kind(layout, required(workspaceMgr)));
    }

    /** Returns whether memory of an array is in a workspace of DL4J's, which may use it again for another array. */
    public static boolean isInWorkspace(INDArray array) {
        return array.isAttached() && !(array.data().getParentWorkspace() instanceof MemoryAsWorkspace);
    }

    /** Returns an array with arbitrary content for a result that is copied before the layer's turn ends. */
    INDArray passing(Layout layout, LayerWorkspaceMgr workspaceMgr) {
        return array(PASSING, layout, workspaceMgr);
    }

    /** Returns whether results of a layer with these workspaces go to places. */
    public static boolean closesEarly(LayerWorkspaceMgr workspaceMgr) {
        return workspaceMgr.hasConfiguration(ArrayType.ACTIVATIONS)
                && !workspaceMgr.isScopedOut(ArrayType.ACTIVATIONS)
                && workspaceMgr.getWorkspaceName(ArrayType.ACTIVATIONS).startsWith(OF_A_LAYER);
    }

    /** Returns the workspace that a network requires of a layer's activations. A graph requires none. */
    public static Optional<String> required(LayerWorkspaceMgr workspaceMgr) {
        return Optional.of(workspaceMgr)
                .filter(manager -> Workspaces.isSeparate(manager, ArrayType.ACTIVATIONS, ArrayType.INPUT))
                .map(manager -> manager.getWorkspaceName(ArrayType.ACTIVATIONS));
    }

    /**
     * Returns an array of the same memory that a layer may return. Empty if the array has to be copied: DL4J closes its
     * workspace after the layer, or it's in a place and becomes the network's output, which a program may keep.
     */
    public Optional<INDArray> passedOn(INDArray array, LayerWorkspaceMgr workspaceMgr) {
        Optional<Numbers> holder = holder(array);
        if (closesEarly(workspaceMgr)) {
            return holder.map(numbers -> numbers.array(new Kind(Layout.of(array), required(workspaceMgr))))
                    .or(() -> array.isAttached() ? Optional.empty() : Optional.of(array));
        }
        return holder.isPresent()
                ? Optional.empty()
                : Optional.of(workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, array));
    }

    /** Returns whether an array has to be copied before the layer's turn ends, see {@link #passing}. */
    public boolean isPassing(INDArray array) {
        List<Map<DataType, Numbers>> own = places.getOrDefault(Thread.currentThread(), List.of());
        Numbers numbers = own.isEmpty() ? null : own.get(0).get(array.dataType());
        return numbers != null && numbers.holds(Workspaces.address(array));
    }

    /** Returns whether an array begins where one of this thread's places does. */
    public boolean holds(INDArray array) {
        return holder(array).isPresent();
    }

    private Optional<Numbers> holder(INDArray array) {
        long address = Workspaces.address(array);
        for (Map<DataType, Numbers> place : places.getOrDefault(Thread.currentThread(), List.of())) {
            Numbers numbers = place.get(array.dataType());
            if (numbers != null && numbers.holds(address)) {
                return Optional.of(numbers);
            }
        }
        return Optional.empty();
    }
}
