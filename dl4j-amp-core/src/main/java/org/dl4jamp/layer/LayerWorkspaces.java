package org.dl4jamp.layer;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Workspaces of a layer's arrays: managers that keep a twin's input, and send what it makes to working memory, and
 * arrays whose workspace has been closed.
 */
public final class LayerWorkspaces {
    private LayerWorkspaces() {}

    /**
     * Returns whether ND4J's operations read an array. They refuse one that was freed, and one in a workspace that is
     * closed, or has been closed since, unless that is circular: minibatches of other threads are in such.
     */
    public static boolean isReadable(INDArray array) {
        if (array.wasClosed()) {
            return false;
        }
        if (!array.isAttached()) {
            return true;
        }
        MemoryWorkspace workspace = array.data().getParentWorkspace();
        return workspace.getWorkspaceType() == MemoryWorkspace.Type.CIRCULAR
                || (workspace.isScopeActive()
                        && workspace.getGenerationId() == array.data().getGenerationId());
    }

    /**
     * Returns whether arrays of a type can be made. A graph that returns its output to the user doesn't open the
     * workspace of that vertex, where its input would go too.
     */
    static boolean isOpen(LayerWorkspaceMgr workspaceMgr, ArrayType type) {
        return !workspaceMgr.hasConfiguration(type)
                || workspaceMgr.isScopedOut(type)
                || Nd4j.getWorkspaceManager().checkIfWorkspaceExistsAndActive(workspaceMgr.getWorkspaceName(type));
    }

    /**
     * Returns a workspace manager that puts a layer's input where it stays as long as it's needed. That is where DL4J
     * has inputs, with two exceptions. Where that workspace isn't open, no backward pass follows. Where it's working
     * memory, DL4J relies on inputs that are outside workspaces already, as in a forward pass before external errors.
     */
    static LayerWorkspaceMgr keeper(LayerWorkspaceMgr outer, ArrayType working, INDArray input) {
        if (isOpen(outer, ArrayType.INPUT)) {
            boolean inWorkingMemory = outer.hasConfiguration(ArrayType.INPUT)
                    && outer.hasConfiguration(working)
                    && !outer.isScopedOut(ArrayType.INPUT)
                    && outer.getWorkspaceName(ArrayType.INPUT).equals(outer.getWorkspaceName(working));
            if (!inWorkingMemory || input.isAttached()) {
                return outer;
            }
        } else if (working != ArrayType.BP_WORKING_MEM) {
            return workingMemory(outer, working, ArrayType.INPUT);
        }
        // A graph without workspaces in training has some in its backward pass only, and computes the score afterwards.
        LayerWorkspaceMgr outside = workingMemory(outer, working);
        outside.setScopedOutFor(ArrayType.INPUT);
        return outside;
    }

    /**
     * Returns a workspace manager that sends some types of array to the working memory of another,
     * {@link ArrayType#FF_WORKING_MEM} or {@link ArrayType#BP_WORKING_MEM}, where they live no longer than the layer's
     * turn.
     */
    static LayerWorkspaceMgr workingMemory(LayerWorkspaceMgr outer, ArrayType working, ArrayType... redirected) {
        LayerWorkspaceMgr.Builder builder = LayerWorkspaceMgr.builder();
        for (ArrayType type : ArrayType.values()) {
            if (outer.isScopedOut(type)) {
                builder.noWorkspaceFor(type);
            } else if (outer.hasConfiguration(type)) {
                builder.with(type, outer.getWorkspaceName(type), outer.getConfiguration(type));
            }
        }
        LayerWorkspaceMgr inner = builder.build();
        for (ArrayType type : redirected) {
            if (outer.hasConfiguration(working) && !outer.isScopedOut(working)) {
                inner.setWorkspace(type, outer.getWorkspaceName(working), outer.getConfiguration(working));
            } else {
                inner.setScopedOutFor(type);
            }
        }
        inner.setHelperWorkspacePointers(outer.getHelperWorkspacePointers());
        return inner;
    }
}
