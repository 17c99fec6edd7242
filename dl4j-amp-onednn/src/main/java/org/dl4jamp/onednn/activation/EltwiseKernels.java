package org.dl4jamp.onednn.activation;

import org.bytedeco.dnnl.eltwise_backward;
import org.bytedeco.dnnl.eltwise_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An activation function, and its derivative from its input, for one layout of input and output. */
public final class EltwiseKernels implements AutoCloseable {
    /** The smallest number that no CPU's mode takes for zero. */
    private static final float RIGHT_OF_ZERO = Float.MIN_NORMAL;

    private final OneDnnContext context;
    private final Kernel forward;
    private final Kernel backward;
    /** Moves zeros to where the slope is ND4J's; null if oneDNN has that at zero. */
    private final Kernel shift;

    private EltwiseKernels(OneDnnContext context, String what, Eltwise eltwise, memory.desc array) {
        this.context = context;
        forward = forward(context, what, eltwise, array);
        backward = backward(context, what, eltwise.derivative(), array);
        if (eltwise.hasOtherSlopeAtZero()) {
            shift = forward(context, what + ", moved", Eltwise.linear(1, RIGHT_OF_ZERO), array);
            context.staging().reserve(array.get_size());
        } else {
            shift = null;
        }
    }

    public static EltwiseKernels make(OneDnnContext context, String layer, Eltwise eltwise, Layout layout) {
        String what = layer + ": " + eltwise.function() + " of " + layout;
        return OneDnnContext.make(
                what,
                Work.ofNumbers(layout.length()),
                () -> new EltwiseKernels(context, what, eltwise, layout.descriptor()));
    }

    /** Returns a kernel that applies a function; to be used within {@link OneDnnContext#make}. */
    static Kernel forward(OneDnnContext context, String what, Eltwise eltwise, memory.desc array) {
        return new Kernel(context, what, forward(eltwise, array));
    }

    /** Returns a kernel that multiplies by a function's derivative; to be used within {@link OneDnnContext#make}. */
    static Kernel backward(OneDnnContext context, String what, Eltwise eltwise, memory.desc array) {
        eltwise_backward.primitive_desc description = new eltwise_backward.primitive_desc(
                OneDnnContext.cpu(),
                eltwise.function(),
                array,
                array,
                array,
                eltwise.alpha(),
                eltwise.beta(),
                forward(eltwise, array),
                OneDnnContext.attributes(),
                false);
        return new Kernel(context, what + ", backward", description);
    }

    private static eltwise_forward.primitive_desc forward(Eltwise eltwise, memory.desc array) {
        return new eltwise_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training,
                eltwise.function(),
                array,
                array,
                eltwise.alpha(),
                eltwise.beta(),
                OneDnnContext.attributes(),
                false);
    }

    public void forward(INDArray input, INDArray output) {
        forward.bind(dnnl.DNNL_ARG_SRC, input).bind(dnnl.DNNL_ARG_DST, output).run();
    }

    public void backward(INDArray input, INDArray epsilon, INDArray inputGradient) {
        Place values = Place.of(input);
        if (shift != null) {
            Place moved = Place.kept(context.staging().address());
            shift.bind(dnnl.DNNL_ARG_SRC, values).bind(dnnl.DNNL_ARG_DST, moved).run();
            values = moved;
        }
        backward.bind(dnnl.DNNL_ARG_SRC, values)
                .bind(dnnl.DNNL_ARG_DIFF_DST, epsilon)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, inputGradient)
                .run();
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
        if (shift != null) {
            shift.close();
        }
    }
}
