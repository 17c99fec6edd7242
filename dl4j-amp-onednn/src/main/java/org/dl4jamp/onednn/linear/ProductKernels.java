package org.dl4jamp.onednn.linear;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.linear.ProductDescriptions.Pass;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.pooling.SideBySide;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.weights.ArrangedGradient;
import org.dl4jamp.onednn.weights.ArrangedWeights;
import org.dl4jamp.onednn.weights.WeightCopies;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The primitives of a layer that multiplies by weights, for one shape of its input, over copies of the weights in the
 * type and order of the primitives. Weights and bias are given, and their gradients returned, in FP32; products are
 * summed in FP32.
 */
public final class ProductKernels implements AutoCloseable {
    /**
     * Weights and bias, or their gradients, in FP32.
     *
     * @param weights {@code [nOut, nIn, ...]}
     * @param bias nOut numbers; null if there is none
     */
    public record Parameters(INDArray weights, INDArray bias) {}

    /**
     * The layer and the shapes that kernels are made for.
     *
     * @param weights the layout of the master weights and their gradients, {@code [nOut, nIn, ...]} or {@code [groups,
     *     nOut, nIn, ...]}
     * @param sum whether another array may be added before the activation function is applied
     * @param function the activation function that is applied to the output; null if there is none
     */
    public record Task(
            String layer, Layout input, Layout weights, boolean hasBias, Layout output, boolean sum, Eltwise function) {
        /** Returns the work: each weight is multiplied at each position of each example. */
        Work work() {
            return Work.ofProducts(weights.length() * (output.length() / output.shape()[1]));
        }

        String describe(String primitive) {
            return layer + ": " + primitive + " of " + input + " by weights " + weights + " to " + output;
        }
    }

    private final OneDnnContext context;
    private final ProductDescriptions<?> descriptions;
    private final String what;
    private final InputSamples samples;
    private final ArrangedWeights weights;
    private final ArrangedWeights weightsBackward;
    private final Map<Pass, Kernel> kernels = new EnumMap<>(Pass.class);
    /** Copies of the outputs that aren't written in place. */
    private final Map<Pass, SideBySide> written = new EnumMap<>(Pass.class);

    private final List<PartialKernels> parts = new ArrayList<>();
    private final boolean keepsWeights;
    private final boolean hasBias;
    private final long[] outputShape;
    private INDArray networks;
    private boolean backwardHasWeights;
    private ArrangedGradient weightGradient;

    /**
     * Makes the common part of all passes; each primitive is made at its first use.
     *
     * @param copies the layer's copies of its weights, for all shapes
     */
    public static <F extends primitive_desc> ProductKernels make(
            OneDnnContext context, ProductPrimitives<F> primitives, WeightCopies copies, Task task) {
        return OneDnnContext.make(
                task.describe(primitives.name()),
                task.work(),
                () -> new ProductKernels(context, primitives, copies, task));
    }

    private <F extends primitive_desc> ProductKernels(
            OneDnnContext context, ProductPrimitives<F> primitives, WeightCopies copies, Task task) {
        this.context = context;
        what = task.describe(primitives.name());
        hasBias = task.hasBias();
        outputShape = task.output().shape();
        samples = primitives.samples(context, task.layer(), task.input());
        descriptions = new ProductDescriptions<>(primitives, task, samples.layout());
        memory.desc network = descriptions.network();
        memory.desc inner = descriptions.forward().weights_desc();
        keepsWeights = copies.areKept();
        if (keepsWeights) {
            weights = ArrangedWeights.read(context, what, copies.kept(inner), network, inner);
            weightsBackward = weights;
            return;
        }
        memory.desc innerBackward = descriptions.of(Pass.BACKWARD_DATA).weights_desc();
        weightsBackward = ArrangedWeights.read(context, what, copies.backward(), network, innerBackward);
        weights = weightsBackward.arranged(context, what, copies.forward(), network, innerBackward, inner);
    }

    private Kernel kernel(Pass pass) {
        return kernels.computeIfAbsent(pass, this::make);
    }

    private Kernel make(Pass pass) {
        boolean adds = pass == Pass.WHOLE && descriptions.task().sum();
        String name = what + (adds ? " and a sum" : pass.suffix);
        return OneDnnContext.make(name, descriptions.task().work(), () -> {
            ProductDescriptions<?> making = descriptions.making(pass);
            primitive_desc description = making.of(pass);
            if (pass == Pass.BACKWARD_WEIGHTS) {
                weightGradient = ArrangedGradient.of(context, what, making.network(), description.diff_weights_desc());
            }
            if (pass.isForward) {
                descriptions.written(context, pass).ifPresent(copy -> written.put(pass, copy));
            }
            Kernel kernel = new Kernel(context, name, description);
            return keepsWeights && pass.isForward ? withParts(kernel, pass) : kernel;
        });
    }

    private Kernel withParts(Kernel kernel, Pass pass) {
        PartialKernels of = new PartialKernels(context, descriptions, pass, what + pass.suffix);
        parts.add(of);
        if (descriptions.isByRows(pass)) {
            kernel.byRows(of);
        }
        of.positions().ifPresent(kernel::at);
        return kernel;
    }

    /**
     * Copies the FP32 master weights for the forward pass.
     *
     * @param training whether a backward pass with the same weights follows
     */
    public void takeWeights(INDArray masters, boolean training) {
        networks = masters;
        weights.copy(masters);
        backwardHasWeights = training && weights.bringsUpToDate(weightsBackward);
    }

    String layer() {
        return descriptions.task().layer();
    }

    /** Returns a copy of the output's shape. */
    public long[] outputShape() {
        return outputShape.clone();
    }

    /** Computes product, bias and, if there is one, activation function; not for kernels that add a sum. */
    void forward(INDArray input, INDArray bias, INDArray output) {
        run(Pass.WHOLE, input, bias, output);
    }

    /** Computes product, bias, a summand of the output's layout and, if there is one, activation function. */
    void forwardAdding(INDArray input, INDArray bias, INDArray summand, INDArray output) {
        kernel(Pass.WHOLE).bind(ProductDescriptions.SUMMAND, summand);
        run(Pass.WHOLE, input, bias, output);
    }

    /** Computes product, bias, the output's numbers of before and, if there is one, activation function. */
    void forwardInPlace(INDArray input, INDArray bias, INDArray output) {
        run(Pass.IN_PLACE, input, bias, output);
    }

    void forwardPlain(INDArray input, INDArray bias, INDArray output) {
        run(Pass.PLAIN, input, bias, output);
    }

    public void forwardInFloat(INDArray input, INDArray bias, INDArray output) {
        run(Pass.IN_FLOAT, input, bias, output);
    }

    private void run(Pass pass, INDArray input, INDArray bias, INDArray output) {
        Kernel kernel = kernel(pass);
        if (hasBias) {
            kernel.bind(dnnl.DNNL_ARG_BIAS, bias);
        }
        weights.bind(kernel, networks);
        SideBySide copy = written.get(pass);
        kernel.bind(dnnl.DNNL_ARG_SRC, samples.take(input))
                .bind(dnnl.DNNL_ARG_DST, copy == null ? Place.of(output) : copy.place())
                .run();
        if (copy != null) {
            copy.give(output);
        }
    }

    public void backwardData(INDArray delta, INDArray masters, INDArray inputGradient) {
        Kernel kernel = kernel(Pass.BACKWARD_DATA);
        if (!backwardHasWeights || !weightsBackward.areThere()) {
            weightsBackward.copy(masters);
        }
        backwardHasWeights = false;
        weightsBackward.bind(kernel, masters);
        kernel.bind(dnnl.DNNL_ARG_DIFF_DST, delta)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, samples.gradient(inputGradient))
                .run();
        samples.spread(inputGradient);
    }

    public void backwardWeights(INDArray input, INDArray delta, INDArray gradient, INDArray biasGradient) {
        Kernel kernel = kernel(Pass.BACKWARD_WEIGHTS);
        if (hasBias) {
            kernel.bind(dnnl.DNNL_ARG_DIFF_BIAS, biasGradient);
        }
        weightGradient.bind(kernel, gradient);
        kernel.bind(dnnl.DNNL_ARG_SRC, samples.take(input))
                .bind(dnnl.DNNL_ARG_DIFF_DST, delta)
                .run();
        weightGradient.copy(gradient);
    }

    @Override
    public void close() {
        kernels.values().forEach(Kernel::close);
        parts.forEach(PartialKernels::close);
        written.values().forEach(SideBySide::close);
        if (weightGradient != null) {
            weightGradient.close();
        }
        samples.close();
        weights.close();
        if (weights != weightsBackward) {
            weightsBackward.close();
        }
    }
}
