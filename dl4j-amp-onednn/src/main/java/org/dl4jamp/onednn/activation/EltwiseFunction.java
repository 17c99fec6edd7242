package org.dl4jamp.onednn.activation;

import java.util.Map;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;

/** A function of oneDNN's with a derivative that is computed from the function's value. */
final class EltwiseFunction implements CellFunction {
    private static final Map<dnnl.algorithm, dnnl.algorithm> FROM_VALUE = Map.of(
            dnnl.algorithm.eltwise_tanh, dnnl.algorithm.eltwise_tanh_use_dst_for_bwd,
            dnnl.algorithm.eltwise_logistic, dnnl.algorithm.eltwise_logistic_use_dst_for_bwd,
            dnnl.algorithm.eltwise_relu, dnnl.algorithm.eltwise_relu_use_dst_for_bwd,
            dnnl.algorithm.eltwise_elu, dnnl.algorithm.eltwise_elu_use_dst_for_bwd);

    private final Eltwise eltwise;
    private final Kernel forward;
    private final Kernel backward;
    private final Kernel backwardFromArguments;

    private EltwiseFunction(OneDnnContext context, String what, Eltwise eltwise, SequenceShape shape) {
        this.eltwise = eltwise;
        memory.desc step = array(shape.minibatch(), shape.units());
        memory.desc steps = array(shape.rows(), shape.units());
        Eltwise fromValue = new Eltwise(FROM_VALUE.get(eltwise.function()), eltwise.alpha(), eltwise.beta());
        forward = Work.ofNumbers(shape.block())
                .withItsThreads(() -> EltwiseKernels.forward(context, what, eltwise, step));
        backward = EltwiseKernels.backward(context, what, fromValue, steps);
        backwardFromArguments = EltwiseKernels.backward(context, what, eltwise, steps);
    }

    /** Empty if oneDNN has no such function, or can't compute ND4J's derivative from its value. */
    static Optional<Eltwise> algorithm(IActivation activation) {
        return Eltwise.of(activation)
                .filter(eltwise -> FROM_VALUE.containsKey(eltwise.function()))
                .filter(eltwise -> !eltwise.hasOtherSlopeAtZero())
                .filter(eltwise -> eltwise.alpha() >= 0);
    }

    static EltwiseFunction make(OneDnnContext context, String layer, Eltwise eltwise, SequenceShape shape) {
        String what = layer + ": " + eltwise.function() + " for " + shape;
        return OneDnnContext.make(
                what, Work.ofNumbers(shape.gate()), () -> new EltwiseFunction(context, what, eltwise, shape));
    }

    private static memory.desc array(long rows, long columns) {
        return Layout.dense(DataType.FLOAT, rows, columns).descriptor();
    }

    @Override
    public Optional<Eltwise> eltwise() {
        return Optional.of(eltwise);
    }

    @Override
    public boolean needsArguments() {
        return false;
    }

    @Override
    public void forward(Slab arguments, Slab values, boolean training) {
        forward.bind(dnnl.DNNL_ARG_SRC, arguments)
                .bind(dnnl.DNNL_ARG_DST, values)
                .run();
    }

    @Override
    public void backward(Slab kept, Slab factor, Slab product) {
        backward(backward, dnnl.DNNL_ARG_DST, kept, factor, product);
    }

    @Override
    public void backwardFromArguments(Slab arguments, Slab factor, Slab product) {
        backward(backwardFromArguments, dnnl.DNNL_ARG_SRC, arguments, factor, product);
    }

    private static void backward(Kernel kernel, int argument, Slab kept, Slab factor, Slab product) {
        kernel.bind(argument, kept)
                .bind(dnnl.DNNL_ARG_DIFF_DST, factor)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, product)
                .run();
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
        backwardFromArguments.close();
    }
}
