package org.dl4jamp.onednn.output;

import java.nio.FloatBuffer;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.softmax_forward;
import org.dl4jamp.engine.host.FlatFloats;
import org.dl4jamp.onednn.array.Layout;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossNegativeLogLikelihood;

/**
 * ND4J's multi-class cross entropy of a softmax, and its gradient, in FP32: for one row of sums x and labels y, p = softmax(x), the loss is
 * -Σ yᵢ log pᵢ with p clipped as the loss function says, and the gradient p - y. ND4J computes the softmax twice, for the one and for the other, and
 * the logarithms of what is multiplied by zero, each operation in a pass of its own.
 */
final class SoftmaxCrossEntropy implements AutoCloseable {
    private final OneDnnContext context;
    private final Supplier<String> layer;
    private final float lowest;
    private final float highest;
    private final KernelCache<Layout, Kernel> kernels = new KernelCache<>(KernelCache.SHAPES);

    private SoftmaxCrossEntropy(OneDnnContext context, Supplier<String> layer, double clip) {
        this.context = context;
        this.layer = layer;
        boolean clips = clip > 0;
        this.lowest = clips ? (float) clip : 0;
        this.highest = clips ? (float) (1 - clip) : Float.POSITIVE_INFINITY;
    }

    /**
     * That of an output layer; empty if the layer has another loss, or another activation function, or weighs its classes.
     *
     * @param layer what error messages call it
     */
    static Optional<SoftmaxCrossEntropy> of(
            OneDnnContext context, ILossFunction loss, IActivation activation, Supplier<String> layer) {
        // Subclasses may compute anything.
        boolean entropy = loss.getClass() == LossMCXENT.class || loss.getClass() == LossNegativeLogLikelihood.class;
        if (!entropy || activation.getClass() != ActivationSoftmax.class || ((LossMCXENT) loss).getWeights() != null) {
            return Optional.empty();
        }
        return Optional.of(new SoftmaxCrossEntropy(context, layer, ((LossMCXENT) loss).getSoftmaxClipEps()));
    }

    /** Whether labels are of the shape of the sums and lie as they do. */
    static boolean takes(INDArray labels, INDArray sums) {
        return Layout.dense(DataType.FLOAT, sums.shape()).isThatOf(labels);
    }

    /**
     * The sum of the losses of all rows.
     *
     * @param sums {@code [rows, classes]}, FP32, dense; becomes the gradient of the sums
     * @param labels such that they are {@linkplain #takes taken}
     */
    double backward(INDArray sums, INDArray labels) {
        Layout layout = Layout.of(sums);
        kernels.get(layout, () -> softmax(layout))
                .bind(dnnl.DNNL_ARG_SRC, sums)
                .bind(dnnl.DNNL_ARG_DST, sums)
                .run();
        FlatFloats probabilities = FlatFloats.of(sums).orElseThrow();
        FlatFloats targets = FlatFloats.of(labels).orElseThrow();
        return FlatFloats.sumOfRanges(
                sums.length(), (start, size) -> loss(probabilities.range(start, size), targets.range(start, size)));
    }

    private Kernel softmax(Layout layout) {
        String what = layer.get() + ": softmax of " + layout;
        return OneDnnContext.make(what, Work.ofNumbers(layout.length()), () -> {
            memory.desc rows = layout.descriptor();
            softmax_forward.primitive_desc description = new softmax_forward.primitive_desc(
                    OneDnnContext.cpu(),
                    dnnl.prop_kind.forward_training,
                    dnnl.algorithm.softmax_accurate,
                    rows,
                    rows,
                    1,
                    OneDnnContext.attributes(),
                    false);
            return new Kernel(context, what, description, new softmax_forward(description))
                    .argument(dnnl.DNNL_ARG_SRC, rows)
                    .argument(dnnl.DNNL_ARG_DST, rows);
        });
    }

    /** Makes gradients of probabilities. */
    private double loss(FloatBuffer probabilities, FloatBuffer labels) {
        float[] p = new float[FlatFloats.CHUNK];
        float[] y = new float[FlatFloats.CHUNK];
        double loss = 0;
        while (probabilities.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, probabilities.remaining());
            probabilities.get(probabilities.position(), p, 0, size);
            labels.get(y, 0, size);
            loss += loss(p, y, size);
            subtract(y, p, size);
            probabilities.put(p, 0, size);
        }
        return loss;
    }

    private static void subtract(float[] y, float[] p, int size) {
        for (int i = 0; i < size; i++) {
            p[i] -= y[i];
        }
    }

    /** Most labels are zero. NaN must not be lost where they are. */
    private double loss(float[] p, float[] y, int size) {
        double loss = 0;
        for (int i = 0; i < size; i++) {
            if (y[i] != 0 || Float.isNaN(p[i])) {
                loss -= y[i] * Math.log(Math.min(Math.max(p[i], lowest), highest));
            }
        }
        return loss;
    }

    @Override
    public void close() {
        kernels.close();
    }
}
