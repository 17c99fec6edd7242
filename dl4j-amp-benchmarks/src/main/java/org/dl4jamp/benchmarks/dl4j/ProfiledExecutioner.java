package org.dl4jamp.benchmarks.dl4j;

import java.util.function.Supplier;
import org.dl4jamp.engine.WorkEvent;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.BroadcastOp;
import org.nd4j.linalg.api.ops.CustomOp;
import org.nd4j.linalg.api.ops.IndexAccumulation;
import org.nd4j.linalg.api.ops.Op;
import org.nd4j.linalg.api.ops.OpContext;
import org.nd4j.linalg.api.ops.ReduceOp;
import org.nd4j.linalg.cpu.nativecpu.ops.NativeOpExecutioner;

/**
 * ND4J's executioner of operations, with a flight recorder event for each. ND4J uses it if its name is in the system
 * property {@value #PROPERTY}.
 */
public final class ProfiledExecutioner extends NativeOpExecutioner {
    /** The kind of its events. */
    public static final String KIND = "nd4j";

    /** ND4J's property for the class of its executioner. */
    public static final String PROPERTY = "opexec";

    @Override
    public INDArray exec(Op op) {
        return recorded(op.opName(), () -> super.exec(op));
    }

    @Override
    public INDArray exec(Op op, OpContext context) {
        return recorded(op.opName(), () -> super.exec(op, context));
    }

    @Override
    public INDArray exec(ReduceOp op) {
        return recorded(op.opName(), () -> super.exec(op));
    }

    @Override
    public INDArray exec(IndexAccumulation op) {
        return recorded(op.opName(), () -> super.exec(op));
    }

    @Override
    public INDArray exec(BroadcastOp op) {
        return recorded(op.opName(), () -> super.exec(op));
    }

    @Override
    public INDArray[] exec(CustomOp op) {
        return recorded(op.opName(), () -> super.exec(op));
    }

    @Override
    public INDArray[] exec(CustomOp op, OpContext context) {
        return recorded(op.opName(), () -> super.exec(op, context));
    }

    private static <T> T recorded(String operation, Supplier<T> execution) {
        WorkEvent event = WorkEvent.begin(KIND, operation);
        T result = execution.get();
        event.commit();
        return result;
    }
}
