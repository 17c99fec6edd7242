package org.dl4jamp.engine.nd4j;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.util.function.BiConsumer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A two-dimensional convolution over HALF weights, from HALF {@code [minibatch, nIn, height, width]} to HALF
 * {@code [minibatch, nOut, height, width]}. The result is a view of memory with channels first, before examples, which
 * a 1×1 convolution can take as it is. Products are summed, and bias and activation applied, in FP32; the result is
 * rounded once. Gradients of the parameters are FP32. Patches are copied (im2col) for one slice of the minibatch after
 * the other.
 *
 * <p>DL4J's {@code NHWC} format, weight noise and dropout aren't supported, nor activation functions that don't work
 * element by element.
 */
final class ConvolutionTwin extends ConvolutionLayer {
    private static final long serialVersionUID = 1L;

    /** Upper bound of the memory of a slice's patches and their gradients, unless one example needs more. */
    static final long SLICE_BYTES = 1L << 28;

    private final transient Products products;
    private final long sliceBytes;

    /** With {@link #SLICE_BYTES}, but for tests. */
    ConvolutionTwin(NeuralNetConfiguration conf, Products products, long sliceBytes) {
        super(conf, DataType.HALF);
        this.products = products;
        this.sliceBytes = sliceBytes;
        this.helper = null;
    }

    private Im2Col patches(INDArray images) {
        return new Im2Col(layerConf(), convolutionMode, images);
    }

    private Im2Col patches() {
        validateInputRank();
        validateInputDepth(getParam(ConvolutionParamInitializer.WEIGHT_KEY).size(1));
        return patches(input);
    }

    /** Examples {@code [from, to)} of the minibatch. */
    private record Slice(long from, long to) {
        boolean isFirst() {
            return from == 0;
        }

        INDArray of(INDArray images) {
            return images.get(interval(from, to));
        }

        /** Of a matrix with some columns for each example. */
        INDArray of(INDArray matrix, Im2Col whole) {
            return matrix.get(all(), interval(from * whole.placesInExample(), to * whole.placesInExample()));
        }
    }

    /** Runs over the minibatch in slices whose patches take bounded memory, which the next slice takes again. */
    private void inSlices(Im2Col whole, WorkingMemory memory, BiConsumer<Slice, WorkingMemory> pass) {
        long bytesOfExample = whole.placesInExample() * whole.terms() * (Short.BYTES + Float.BYTES);
        long examples = Math.max(1, sliceBytes / bytesOfExample);
        long minibatch = input.size(0);
        WorkingMemory part = memory.ofPart();
        for (long from = 0; from < minibatch; from += examples) {
            Slice slice = new Slice(from, Math.min(minibatch, from + examples));
            try (MemoryWorkspace scope = part.open()) {
                pass.accept(slice, part);
            }
        }
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        Im2Col whole = patches();
        long[] shape = {layerConf().getNOut(), whole.places()};
        INDArray output = workspaceMgr.createUninitialized(ArrayType.ACTIVATIONS, DataType.HALF, shape, 'c');
        inSlices(whole, WorkingMemory.forward(workspaceMgr), (slice, memory) -> {
            INDArray images = slice.of(input);
            INDArray z = beforeActivation(patches(images).of(images, memory), memory);
            slice.of(output, whole).assign(layerConf().getActivationFn().getActivation(z, training));
        });
        return whole.images(output);
    }

    /** Returns FLOAT {@code [nOut, minibatch * outHeight * outWidth]}. */
    private INDArray beforeActivation(INDArray patches, WorkingMemory memory) {
        INDArray weights = weights(patches.size(0));
        INDArray z = memory.create(DataType.FLOAT, 'c', weights.size(0), patches.size(1));
        products.multiply(weights, patches, z, 0, memory);
        if (hasBias()) {
            INDArray bias = memory.cast(getParam(ConvolutionParamInitializer.BIAS_KEY), DataType.FLOAT);
            z.addiColumnVector(bias.reshape(bias.length(), 1));
        }
        return z;
    }

    /** Returns HALF {@code [nOut, nIn * kernelHeight * kernelWidth]}. */
    private INDArray weights(long terms) {
        INDArray weights = getParam(ConvolutionParamInitializer.WEIGHT_KEY);
        return weights.reshape('c', weights.size(0), terms);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Im2Col whole = patches();
        long[] shape = {input.size(1), input.size(0), input.size(2), input.size(3)};
        INDArray next = workspaceMgr.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.HALF, shape, 'c');
        INDArray images = next.permute(1, 0, 2, 3);
        inSlices(
                whole,
                WorkingMemory.backward(workspaceMgr),
                (slice, memory) -> backward(slice, epsilon, slice.of(images), memory));
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            gradient.setGradientFor(
                    ConvolutionParamInitializer.BIAS_KEY, gradientViews.get(ConvolutionParamInitializer.BIAS_KEY));
        }
        gradient.setGradientFor(
                ConvolutionParamInitializer.WEIGHT_KEY, gradientViews.get(ConvolutionParamInitializer.WEIGHT_KEY), 'c');
        return new Pair<>(gradient, images);
    }

    /**
     * Runs the backward pass of a slice; gradients of parameters add up. That of the input goes to {@code next},
     * {@code [minibatch, nIn, height, width]}.
     */
    private void backward(Slice slice, INDArray epsilon, INDArray next, WorkingMemory memory) {
        INDArray images = slice.of(input);
        Im2Col patches = patches(images);
        INDArray inputPatches = patches.of(images, memory);
        INDArray rounded = roundedDelta(slice, epsilon, inputPatches, memory);
        products.multiply(
                rounded,
                inputPatches.transpose(),
                gradientViews
                        .get(ConvolutionParamInitializer.WEIGHT_KEY)
                        .reshape('c', rounded.size(0), patches.terms()),
                slice.isFirst() ? 0 : 1,
                memory);
        INDArray patchGradients = memory.create(DataType.FLOAT, 'c', patches.terms(), patches.places());
        products.multiply(weights(patches.terms()).transpose(), rounded, patchGradients, 0, memory);
        next.assign(patches.sum(patchGradients, memory));
    }

    /**
     * Returns the gradient before the activation function, rounded: HALF {@code [nOut, minibatch * outHeight *
     * outWidth]}. Adds up the bias' gradient.
     */
    private INDArray roundedDelta(Slice slice, INDArray epsilon, INDArray inputPatches, WorkingMemory memory) {
        if (layerConf().getActivationFn() instanceof ActivationIdentity) {
            INDArray delta = Im2Col.rows(slice.of(epsilon), DataType.HALF, memory);
            if (hasBias()) {
                // A sum of HALF numbers by ND4J would be HALF.
                INDArray ones = memory.create(DataType.HALF, 'c', delta.size(1), 1);
                products.multiply(delta, ones.assign(1), biasGradient(), slice.isFirst() ? 0 : 1, memory);
            }
            return delta;
        }
        INDArray delta = layerConf()
                .getActivationFn()
                .backprop(
                        beforeActivation(inputPatches, memory), Im2Col.rows(slice.of(epsilon), DataType.FLOAT, memory))
                .getFirst();
        if (hasBias()) {
            INDArray ofSlice = delta.sum(true, 1);
            if (slice.isFirst()) {
                biasGradient().assign(ofSlice);
            } else {
                biasGradient().addi(ofSlice);
            }
        }
        return memory.cast(delta, DataType.HALF);
    }

    /** Returns FLOAT {@code [nOut, 1]}. */
    private INDArray biasGradient() {
        INDArray view = gradientViews.get(ConvolutionParamInitializer.BIAS_KEY);
        return view.reshape('c', view.length(), 1);
    }
}
