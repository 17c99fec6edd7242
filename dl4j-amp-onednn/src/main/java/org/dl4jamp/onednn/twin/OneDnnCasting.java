package org.dl4jamp.onednn.twin;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.ResultPlace;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Casting;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Casts and changes the order in memory in one pass: BFLOAT16 arrays have their channels last, FP32 arrays are in the
 * order that DL4J's own layers expect.
 *
 * @param place where an output in ND4J's order may go in inference; empty for a workspace of DL4J's
 */
public record OneDnnCasting(OneDnnContext context, ChannelAxis channels, Optional<ResultPlace> place)
        implements Casting {
    public OneDnnCasting(OneDnnContext context) {
        this(context, ChannelAxis.SECOND);
    }

    public OneDnnCasting(OneDnnContext context, ChannelAxis channels) {
        this(context, channels, Optional.empty());
    }

    /** Returns the casting of a layer whose output in ND4J's order may go to a place. */
    public OneDnnCasting placing(ResultPlace output) {
        return new OneDnnCasting(context, channels, Optional.of(output));
    }

    @Override
    public INDArray cast(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
        if (array == null || array.dataType() == type) {
            return array;
        }
        if (!Layout.isReadable(array) || !Layout.isKnown(type)) {
            return Casting.ND4J.cast(array, type, workspaceMgr, destination);
        }
        INDArray cast = type == DataType.BFLOAT16 && channels == ChannelAxis.SECOND
                ? Workspaces.channelsLast(workspaceMgr, destination, type, array.shape())
                : Workspaces.dense(workspaceMgr, destination, type, array.shape());
        context.copies().copy(array, cast);
        return cast;
    }

    @Override
    public INDArray usualOrder(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
        if (array == null) {
            return null;
        }
        if (place.isEmpty() || !context.activationMemory().isPassing(array)) {
            return context.copies().dense(array, workspaceMgr, destination);
        }
        INDArray copy = place.get().dense(array.dataType(), workspaceMgr, array.shape());
        context.copies().copy(array, copy);
        return copy;
    }

    @Override
    public INDArray leverage(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        return context.lentGradients().leverage(gradient, workspaceMgr);
    }

    @Override
    public INDArray summable(INDArray gradient) {
        return gradient == null ? null : GradientSum.of(gradient, context);
    }
}
