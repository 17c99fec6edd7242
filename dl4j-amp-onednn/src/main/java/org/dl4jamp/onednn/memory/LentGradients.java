package org.dl4jamp.onednn.memory;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Memory for gradients that a layer returns unchanged to the layer before it. A ReLU does so if the layer before it
 * applies its derivative. In DL4J's workspaces it would have to copy them, since DL4J closes a gradient's workspace
 * after the next layer.
 *
 * <p>A lender writes a gradient, and its last reader gives it back. Memory that isn't given back, such as after an
 * exception, goes to its lender again.
 */
public final class LentGradients implements AutoCloseable {
    private static final String WORKSPACE = "DL4J_AMP_LENT_GRADIENTS";
    private static final int SHAPES = 64;

    /** The place of a lender's gradient of its input: DL4J's workspace, or lent memory after {@link #lend}. */
    public final class OfInput {
        private boolean lends;

        private OfInput() {}

        public void lend() {
            lends = true;
        }

        /** Returns an array with arbitrary content, in channels-last order. */
        public INDArray create(LayerWorkspaceMgr workspaceMgr, DataType type, long... shape) {
            return lends && isHandedBackFromWorkspace(workspaceMgr)
                    ? LentGradients.this.lend(this, Layout.channelsLast(type, shape))
                    : Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, shape);
        }

        /** Without workspaces none is closed too early, and an array that is cast next isn't given back. */
        private boolean isHandedBackFromWorkspace(LayerWorkspaceMgr workspaceMgr) {
            return workspaceMgr.hasConfiguration(ArrayType.ACTIVATION_GRAD)
                    && !workspaceMgr.isScopedOut(ArrayType.ACTIVATION_GRAD)
                    && Workspaces.isSeparate(workspaceMgr, ArrayType.ACTIVATION_GRAD, ArrayType.BP_WORKING_MEM);
        }
    }

    /** Memory that is lent as one array at a time, and appears to DL4J as a workspace. */
    private static final class Piece {
        private final AlignedMemory memory = new AlignedMemory();
        private final MemoryWorkspace workspace =
                new MemoryAsWorkspace(WORKSPACE, () -> new Handle().at(memory.address()));
        private final long bytes;
        private final Map<Layout, INDArray> arrays = new HashMap<>();
        private Object lender;
        private INDArray lent;

        Piece(long bytes) {
            this.bytes = bytes;
            memory.reserve(bytes);
        }

        boolean isFree() {
            return lender == null;
        }

        INDArray lend(Object to, Layout layout) {
            if (arrays.size() == SHAPES) {
                arrays.clear();
            }
            lent = arrays.computeIfAbsent(layout, key -> Workspaces.in(workspace, key));
            lender = to;
            return lent;
        }

        boolean isLentAs(INDArray array) {
            return !isFree()
                    && array.length() == lent.length()
                    && array.dataType() == lent.dataType()
                    && Workspaces.address(array) == Workspaces.address(lent);
        }

        void takeBack() {
            lender = null;
            lent = null;
        }

        void free() {
            arrays.clear();
            memory.close();
        }
    }

    private final List<Piece> pieces = new ArrayList<>();

    /** Returns the place of one lender. */
    public OfInput ofInput() {
        return new OfInput();
    }

    /**
     * Returns memory for a gradient.
     *
     * @param lender the writer, which has one at a time
     */
    public INDArray lend(Object lender, Layout layout) {
        find(piece -> piece.lender == lender).ifPresent(Piece::takeBack);
        return piece(layout.length() * layout.type().width()).lend(lender, layout);
    }

    /** Returns the smallest free piece that is large enough; if there is none, a new one in place of a free one. */
    private Piece piece(long bytes) {
        List<Piece> free = pieces.stream().filter(Piece::isFree).toList();
        return free.stream()
                .filter(piece -> piece.bytes >= bytes)
                .min(Comparator.comparingLong(piece -> piece.bytes))
                .orElseGet(() -> {
                    free.stream().findFirst().ifPresent(this::drop);
                    Piece piece = new Piece(bytes);
                    pieces.add(piece);
                    return piece;
                });
    }

    private void drop(Piece piece) {
        pieces.remove(piece);
        piece.free();
    }

    /** Returns whether an array is a lent gradient, or another view of it. */
    public boolean contain(INDArray array) {
        return find(piece -> piece.isLentAs(array)).isPresent();
    }

    /**
     * Moves a gradient to memory that stays until its reader is done.
     *
     * @return the array itself if it's lent; DL4J then leaves it where it is
     */
    public INDArray leverage(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        if (contain(gradient)) {
            workspaceMgr.setNoLeverageOverride(WORKSPACE);
            return gradient;
        }
        return workspaceMgr.leverageTo(ArrayType.ACTIVATION_GRAD, gradient);
    }

    /** Gives back a gradient after its last read. Any other array is ignored. */
    public void giveBack(INDArray array) {
        find(piece -> piece.isLentAs(array)).ifPresent(Piece::takeBack);
    }

    private Optional<Piece> find(Predicate<Piece> which) {
        return pieces.stream().filter(which).findFirst();
    }

    @Override
    public void close() {
        pieces.forEach(Piece::free);
        pieces.clear();
    }
}
