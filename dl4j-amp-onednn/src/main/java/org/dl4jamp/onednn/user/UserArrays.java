package org.dl4jamp.onednn.user;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.extension.LayerArrays;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Memory of one pass in DL4J's workspaces. */
final class UserArrays implements LayerArrays {
    private final OneDnnContext context;
    private final String what;
    private final DataType type;
    private final Map<String, INDArray> parameters;
    private final Map<String, INDArray> gradients;
    private final INDArray mask;
    private final boolean backward;
    private final boolean training;
    private final LayerWorkspaceMgr workspaceMgr;
    private final Set<String> asked = new HashSet<>();
    private INDArray result;

    /**
     * @param what kernel and layer, for messages
     * @param gradients views that gradients go to; null in a forward pass, and where nobody reads gradients
     */
    UserArrays(
            OneDnnContext context,
            String what,
            DataType type,
            Map<String, INDArray> parameters,
            Map<String, INDArray> gradients,
            INDArray mask,
            boolean backward,
            boolean training,
            LayerWorkspaceMgr workspaceMgr) {
        this.context = context;
        this.what = what;
        this.type = type;
        this.parameters = parameters;
        this.gradients = gradients;
        this.mask = mask;
        this.backward = backward;
        this.training = training;
        this.workspaceMgr = workspaceMgr;
    }

    @Override
    public boolean training() {
        return training;
    }

    @Override
    public DataType type() {
        return type;
    }

    @Override
    public INDArray mask() {
        return mask;
    }

    @Override
    public INDArray parameter(String name) {
        INDArray own = known(name);
        if (own.dataType() == type) {
            return own;
        }
        INDArray rounded = working(own.shape());
        context.copies().copyOrAssign(own, rounded);
        return rounded;
    }

    private INDArray known(String name) {
        INDArray own = parameters.get(name);
        if (own == null) {
            throw new AmpException(
                    what + " has no parameter \"" + name + "\", only " + new TreeSet<>(parameters.keySet()));
        }
        return own;
    }

    @Override
    public INDArray gradient(String name) {
        INDArray own = known(name);
        if (!backward) {
            throw new AmpException(what + " has no gradient of \"" + name + "\" in a forward pass");
        }
        asked.add(name);
        return gradients == null
                ? Workspaces.dense(workspaceMgr, working(), DataType.FLOAT, own.shape())
                : gradients.get(name);
    }

    private ArrayType working() {
        return backward ? ArrayType.BP_WORKING_MEM : ArrayType.FF_WORKING_MEM;
    }

    @Override
    public INDArray result(long... shape) {
        result = Workspaces.dense(
                workspaceMgr, backward ? ArrayType.ACTIVATION_GRAD : ArrayType.ACTIVATIONS, type, shape);
        return result;
    }

    @Override
    public INDArray working(long... shape) {
        return Workspaces.dense(workspaceMgr, working(), type, shape);
    }

    @Override
    public INDArray product(INDArray left, INDArray right, INDArray target) {
        context.products().multiply(left, right, target);
        return target;
    }

    /** Refuses a backward pass after which the network's gradient view has what was there before. */
    void requireGradients() {
        Set<String> left = new TreeSet<>(parameters.keySet());
        left.removeAll(asked);
        if (!left.isEmpty()) {
            throw new AmpException(what + " didn't call gradient(...) for its parameters " + left);
        }
    }

    /** Returns what a pass returned, where DL4J looks for it, and refuses what can't be a result. */
    INDArray returned(INDArray array, String method) {
        if (array == null) {
            throw new AmpException(what + " returned null from " + method);
        }
        if (array.dataType() != type) {
            throw new AmpException(
                    what + " returned " + array.dataType() + " from " + method + ", and the pass is in " + type);
        }
        if (array == result) {
            return array;
        }
        INDArray copy = result(array.shape());
        context.copies().copyOrAssign(array, copy);
        return copy;
    }
}
