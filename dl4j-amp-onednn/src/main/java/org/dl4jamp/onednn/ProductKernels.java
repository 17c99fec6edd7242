package org.dl4jamp.onednn;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The primitives of a layer that multiplies by weights, for one shape of its input, and the weights in the type and order that they want.
 * Weights and bias are given, and their gradients returned, in FP32; products are summed in FP32.
 */
final class ProductKernels implements AutoCloseable {
    /**
     * What they are made for.
     *
     * @param layer for error messages
     * @param input how the input lies in memory
     * @param weights how the master weights lie in memory, {@code [nOut, nIn, ...]} or {@code [groups, nOut, nIn, ...]}, which is also
     *     how their gradients do
     * @param hasBias whether there is a bias
     * @param output how the output lies in memory
     * @param function the activation function that is applied to the output; null if there is none
     */
    record Task(String layer, Layout input, Layout weights, boolean hasBias, Layout output, Eltwise function) {
        /** A weight is multiplied at each position of each example. */
        private Work work() {
            return Work.ofProducts(weights.length() * (output.length() / output.shape()[1]));
        }

        String describe(String primitive) {
            return layer + ": " + primitive + " of " + input + " by weights " + weights + " to " + output;
        }
    }

    private final Kernel forward;
    private final Kernel forwardInFloat;
    private final Kernel backwardData;
    private final Kernel backwardWeights;
    private final Samples samples;
    private final ArrangedWeights weights;
    private final ArrangedWeights weightsBackward;
    private final ArrangedWeights weightGradient;
    private final boolean hasBias;
    private final long[] outputShape;
    private boolean backwardHasWeights;
    private final String layer;

    static <F extends primitive_desc> ProductKernels make(
            OneDnnContext context, ProductPrimitives<F> primitives, Task task) {
        return OneDnnContext.make(
                task.describe(primitives.name()), task.work(), () -> new ProductKernels(context, primitives, task));
    }

    private <F extends primitive_desc> ProductKernels(
            OneDnnContext context, ProductPrimitives<F> primitives, Task task) {
        String what = task.describe(primitives.name());
        hasBias = task.hasBias();
        layer = task.layer();
        outputShape = task.output().shape();
        samples = primitives.samples(context, layer, task.input());
        memory.desc input = primitives.seen(samples.layout()).descriptor();
        memory.desc output = primitives.seen(task.output()).descriptor();
        memory.desc floatOutput = primitives
                .seen(Layout.channelsLast(DataType.FLOAT, outputShape))
                .descriptor();
        Layout networks = primitives.seen(task.weights());
        memory.desc wanted = primitives.weights(task.input().type(), networks);
        memory.desc wantedGradient = primitives.weights(DataType.FLOAT, networks);
        memory.desc master = networks.descriptor();
        memory.desc bias =
                hasBias ? Layout.dense(DataType.FLOAT, outputShape[1]).descriptor() : new memory.desc();

        primitive_attr attributes = OneDnnContext.attributes();
        if (task.function() != null) {
            post_ops function = new post_ops();
            function.append_eltwise(
                    task.function().function(),
                    task.function().alpha(),
                    task.function().beta());
            attributes.set_post_ops(function);
        }
        F first = primitives.forward(input, wanted, bias, output, attributes);
        memory.desc inner = first.weights_desc();
        primitive_desc data = primitives.backwardData(input, wanted, output, first, OneDnnContext.attributes());
        memory.desc innerBackward = data.weights_desc();
        weightsBackward = ArrangedWeights.read(context, what, master, innerBackward);
        weights = weightsBackward.arranged(context, what, master, innerBackward, inner);
        forward = weights.declare(
                        withBias(new Kernel(context, what, first, new primitive(first)), bias, dnnl.DNNL_ARG_BIAS),
                        dnnl.DNNL_ARG_WEIGHTS,
                        inner)
                .argument(dnnl.DNNL_ARG_SRC, input)
                .argument(dnnl.DNNL_ARG_DST, output);

        F plain = primitives.forward(input, inner, bias, floatOutput, OneDnnContext.attributes());
        forwardInFloat = weights.declare(
                        withBias(
                                new Kernel(context, what + " in FP32", plain, new primitive(plain)),
                                bias,
                                dnnl.DNNL_ARG_BIAS),
                        dnnl.DNNL_ARG_WEIGHTS,
                        inner)
                .argument(dnnl.DNNL_ARG_SRC, input)
                .argument(dnnl.DNNL_ARG_DST, floatOutput);

        backwardData = weightsBackward
                .declare(
                        new Kernel(context, what + ", backward to its input", data, new primitive(data)),
                        dnnl.DNNL_ARG_WEIGHTS,
                        innerBackward)
                .argument(dnnl.DNNL_ARG_DIFF_DST, output)
                .argument(dnnl.DNNL_ARG_DIFF_SRC, input);

        primitive_desc gradient =
                primitives.backwardWeights(input, wantedGradient, bias, output, first, OneDnnContext.attributes());
        memory.desc innerGradient = gradient.diff_weights_desc();
        weightGradient = ArrangedWeights.written(context, what, master, innerGradient);
        backwardWeights = weightGradient
                .declare(
                        withBias(
                                new Kernel(
                                        context, what + ", backward to its weights", gradient, new primitive(gradient)),
                                bias,
                                dnnl.DNNL_ARG_DIFF_BIAS),
                        dnnl.DNNL_ARG_DIFF_WEIGHTS,
                        innerGradient)
                .argument(dnnl.DNNL_ARG_SRC, input)
                .argument(dnnl.DNNL_ARG_DIFF_DST, output);
    }

    private Kernel withBias(Kernel kernel, memory.desc bias, int argument) {
        return hasBias ? kernel.argument(argument, bias) : kernel;
    }

    /**
     * Takes the FP32 master weights over for the forward pass.
     *
     * @param training whether a backward pass is to follow, which then uses the weights of this forward pass
     */
    void takeWeights(INDArray networks, boolean training) {
        weights.copy(networks);
        weights.bind(forward, dnnl.DNNL_ARG_WEIGHTS, networks);
        weights.bind(forwardInFloat, dnnl.DNNL_ARG_WEIGHTS, networks);
        backwardHasWeights = training && weights.bringsUpToDate(weightsBackward);
    }

    /** The layer that they are for. */
    String layer() {
        return layer;
    }

    /** A copy of the output's shape. */
    long[] outputShape() {
        return outputShape.clone();
    }

    /** Product, bias and, if there is one, activation function. */
    void forward(INDArray input, INDArray bias, INDArray output) {
        run(forward, input, bias, output);
    }

    /** Product and bias, in FP32. */
    void forwardInFloat(INDArray input, INDArray bias, INDArray output) {
        run(forwardInFloat, input, bias, output);
    }

    private void run(Kernel kernel, INDArray input, INDArray bias, INDArray output) {
        if (hasBias) {
            kernel.bind(dnnl.DNNL_ARG_BIAS, bias);
        }
        kernel.bind(dnnl.DNNL_ARG_SRC, samples.take(input))
                .bind(dnnl.DNNL_ARG_DST, output)
                .run();
    }

    void backwardData(INDArray delta, INDArray networks, INDArray inputGradient) {
        if (!backwardHasWeights) {
            weightsBackward.copy(networks);
        }
        backwardHasWeights = false;
        weightsBackward.bind(backwardData, dnnl.DNNL_ARG_WEIGHTS, networks);
        backwardData
                .bind(dnnl.DNNL_ARG_DIFF_DST, delta)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, samples.gradient(inputGradient))
                .run();
        samples.spread(inputGradient);
    }

    void backwardWeights(INDArray input, INDArray delta, INDArray networks, INDArray biasGradient) {
        if (hasBias) {
            backwardWeights.bind(dnnl.DNNL_ARG_DIFF_BIAS, biasGradient);
        }
        weightGradient.bind(backwardWeights, dnnl.DNNL_ARG_DIFF_WEIGHTS, networks);
        backwardWeights
                .bind(dnnl.DNNL_ARG_SRC, samples.take(input))
                .bind(dnnl.DNNL_ARG_DIFF_DST, delta)
                .run();
        weightGradient.copy(networks);
    }

    @Override
    public void close() {
        forward.close();
        forwardInFloat.close();
        backwardData.close();
        backwardWeights.close();
        samples.close();
        weights.close();
        if (weightsBackward != weights) {
            weightsBackward.close();
        }
        weightGradient.close();
    }
}
