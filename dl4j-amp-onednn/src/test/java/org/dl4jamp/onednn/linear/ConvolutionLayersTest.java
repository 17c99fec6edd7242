package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Assume;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Convolutions of all kinds agree with DL4J's layers on random shapes. */
public class ConvolutionLayersTest {
    /** Behind other functions than the first two the gradient of the sums is rounded, too. */
    private static final List<Activation> FUNCTIONS =
            List.of(Activation.IDENTITY, Activation.RELU, Activation.TANH, Activation.RATIONALTANH);

    /**
     * A convolution to try.
     *
     * @param seed of its numbers
     * @param sizes kernel, stride, padding and dilation, for three axes each
     * @param mode what happens at the borders
     * @param batch minibatch
     * @param nIn channels of the input
     * @param nOut channels of the output
     * @param bias whether it has one
     * @param function which of {@link #FUNCTIONS}
     * @param last whether the channels are the last axis
     */
    record Case(
            long seed,
            List<Integer> sizes,
            ConvolutionMode mode,
            int batch,
            int nIn,
            int nOut,
            boolean bias,
            int function,
            boolean last) {
        int[] kernel(int axes) {
            return numbers(0, axes, 1, 3);
        }

        int[] stride(int axes) {
            return numbers(3, axes, 1, 2);
        }

        /** Never so much that a window covers nothing else. */
        int[] padding(int axes) {
            int[] padding = numbers(6, axes, 0, 1);
            for (int axis = 0; axis < axes; axis++) {
                boolean possible = mode == ConvolutionMode.Truncate && kernel(axes)[axis] > 1;
                padding[axis] = possible ? padding[axis] : 0;
            }
            return padding;
        }

        int[] dilation(int axes) {
            return numbers(9, axes, 1, 2);
        }

        private int[] numbers(int from, int axes, int least, int most) {
            int[] values = new int[axes];
            for (int axis = 0; axis < axes; axis++) {
                values[axis] = least + sizes.get(from + axis) % (most - least + 1);
            }
            return values;
        }

        /** Large enough for the window, and in the mode Strict a whole number of steps. */
        long[] extents(int axes) {
            long[] extents = new long[axes];
            for (int axis = 0; axis < axes; axis++) {
                int extent = (kernel(axes)[axis] - 1) * dilation(axes)[axis] + 1;
                extents[axis] = extent + (long) stride(axes)[axis] * (sizes.get(axis) % 3 + (axes == 3 ? 0 : 1));
            }
            return extents;
        }

        /** A deconvolution's output is larger than nothing. */
        boolean spreads(int axes) {
            for (int axis = 0; axis < axes; axis++) {
                int extent = (kernel(axes)[axis] - 1) * dilation(axes)[axis] + 1;
                if (stride(axes)[axis] * (extents(axes)[axis] - 1) + extent <= 2L * padding(axes)[axis]) {
                    return false;
                }
            }
            return true;
        }

        Activation activation() {
            return FUNCTIONS.get(function);
        }

        Random random() {
            return new Random(seed);
        }

        INDArray input(int axes) {
            INDArray input = gaussian(random(), 1, Workspaces.shape(batch, nIn, extents(axes)));
            return last ? Workspaces.contiguous(input).dup('c') : input;
        }

        CNN2DFormat format() {
            return last ? CNN2DFormat.NHWC : CNN2DFormat.NCHW;
        }

        Convolution3D.DataFormat formatOfVolumes() {
            return last ? Convolution3D.DataFormat.NDHWC : Convolution3D.DataFormat.NCDHW;
        }

        /** Sets what all convolutions have beside their kernel, stride and padding. */
        <B extends ConvolutionLayer.BaseConvBuilder<B>> B on(int axes, B builder) {
            return builder.dilation(dilation(axes))
                    .convolutionMode(mode)
                    .nIn(nIn)
                    .nOut(nOut)
                    .hasBias(bias)
                    .activation(activation());
        }

        TwinCheck check(ConvolutionLayer conf) {
            return TwinCheck.of(conf, ConvolutionTwin.class, random()).roundingDelta(function < 2 ? 0 : 1);
        }
    }

    @Provide
    Arbitrary<Case> cases() {
        Arbitrary<Integer> channels = Arbitraries.integers().between(1, 20);
        return Combinators.combine(
                        Arbitraries.longs(),
                        Arbitraries.integers().between(0, 11).list().ofSize(12),
                        Arbitraries.of(ConvolutionMode.Same, ConvolutionMode.Truncate, ConvolutionMode.Strict),
                        Arbitraries.integers().between(1, 3),
                        channels,
                        channels,
                        Arbitraries.of(true, false),
                        Arbitraries.integers().between(0, FUNCTIONS.size() - 1))
                .as((seed, sizes, mode, batch, nIn, nOut, bias, function) ->
                        new Case(seed, sizes, mode, batch, nIn, nOut, bias, function, seed % 2 == 0));
    }

    @Property(tries = 40)
    void alongTwoAxes(@ForAll("cases") Case c) {
        ConvolutionLayer conf = c.on(2, new ConvolutionLayer.Builder(c.kernel(2), c.stride(2), c.padding(2)))
                .dataFormat(c.format())
                .build();
        c.check(conf).agrees(c.input(2));
    }

    @Property(tries = 40)
    void alongSequences(@ForAll("cases") Case c, @ForAll boolean causal, @ForAll boolean masked) {
        ConvolutionMode mode = causal ? ConvolutionMode.Causal : c.mode();
        ConvolutionLayer conf = new Convolution1DLayer.Builder(
                        c.kernel(1)[0], c.stride(1)[0], causal ? 0 : c.padding(1)[0])
                .dilation(c.dilation(1))
                .convolutionMode(mode)
                .nIn(c.nIn())
                .nOut(c.nOut())
                .hasBias(c.bias())
                .activation(c.activation())
                .build();
        INDArray input = gaussian(c.random(), 1, Workspaces.shape(c.batch(), c.nIn(), c.extents(1)));
        c.check(conf).masked(masked ? ending(c.batch(), input.size(2)) : null).agrees(input);
    }

    /** Sequences of different lengths. */
    public static INDArray ending(long batch, long length) {
        INDArray mask = Nd4j.ones(DataType.FLOAT, batch, length);
        for (long i = 0; i < batch; i++) {
            for (long step = Math.max(1, length - i); step < length; step++) {
                mask.putScalar(i, step, 0);
            }
        }
        return mask;
    }

    @Property(tries = 30)
    void alongThreeAxes(@ForAll("cases") Case c) {
        // DL4J rejects some that would fit, for it takes one axis for another.
        Assume.that(c.mode() != ConvolutionMode.Strict);
        Convolution3D conf = c.on(3, new Convolution3D.Builder(c.kernel(3), c.stride(3), c.padding(3)))
                .dataFormat(c.formatOfVolumes())
                .build();
        c.check(conf).agrees(c.input(3));
    }

    @Test
    void aWindowOfOnePositionMayHaveGaps() {
        for (long size : new long[] {1, 2, 5}) {
            Convolution3D conf = new Convolution3D.Builder(new int[] {1, 1, 1}, new int[] {1, 2, 2})
                    .dilation(1, 1, 2)
                    .convolutionMode(ConvolutionMode.Same)
                    .activation(Activation.IDENTITY)
                    .nIn(3)
                    .nOut(4)
                    .build();
            TwinCheck.of(conf, ConvolutionTwin.class, new Random(size))
                    .agrees(gaussian(new Random(size), 1, 2, 3, size, size, size));
        }
    }

    /** oneDNN's primitives go wrong where the stride is larger than the array. */
    @Test
    void aWindowWithOnePositionMayHaveAnyStride() {
        for (int[] c :
                new int[][] {{2, 2, 1, 1}, {3, 2, 1, 1}, {4, 4, 4, 0}, {3, 4, 3, 1}, {2, 5, 4, 1}, {5, 3, 2, 2}}) {
            ConvolutionLayer conf = new ConvolutionLayer.Builder(c[0], c[0])
                    .stride(c[1], c[1])
                    .padding(c[3], c[3])
                    .convolutionMode(ConvolutionMode.Truncate)
                    .activation(Activation.IDENTITY)
                    .nIn(16)
                    .nOut(16)
                    .build();
            TwinCheck.of(conf, ConvolutionTwin.class, new Random(c[0]))
                    .agrees(gaussian(new Random(c[1]), 1, 2, 16, c[2], c[2]));
        }
    }

    /** oneDNN's fast gradients of the weights read beyond such volumes. */
    @Test
    void volumesMayBeSmallerThanALargeWindow() {
        for (int size : new int[] {5, 7}) {
            Convolution3D conf = new Convolution3D.Builder(new int[] {7, 7, 7}, new int[] {2, 2, 2})
                    .convolutionMode(ConvolutionMode.Same)
                    .activation(Activation.IDENTITY)
                    .nIn(3)
                    .nOut(16)
                    .build();
            TwinCheck.of(conf, ConvolutionTwin.class, new Random(size))
                    .agrees(gaussian(new Random(size), 1, 2, 3, size, size, size));
        }
    }

    /** oneDNN's BFLOAT16 gradients of their weights are wrong; FP32's aren't. */
    @Test
    void volumesAreSpreadOutInFloat() {
        for (int[][] c : new int[][][] {
            {{4, 3, 2}, {1, 1, 3}},
            {{6, 2, 1}, {1, 2, 1}},
            {{2, 3, 1}, {1, 3, 2}},
            {{3, 2, 3}, {1, 1, 2}},
            {{3, 4, 1}, {1, 1, 1}}
        }) {
            Deconvolution3D conf = new Deconvolution3D.Builder()
                    .kernelSize(c[0])
                    .stride(c[1])
                    .convolutionMode(ConvolutionMode.Same)
                    .activation(Activation.IDENTITY)
                    .nIn(5)
                    .nOut(20)
                    .build();
            assertTrue(new OneDnnEngine().cannot(conf, Precision.BFLOAT16).isPresent());
            assertTrue(new OneDnnEngine().cannot(conf, Precision.FLOAT).isEmpty());
            INDArray params = gaussian(new Random(1), 0.3, conf.initializer().numParams(conf));
            INDArray input = gaussian(new Random(2), 1, 2, 5, 3, 4, 5);
            Layer dl4j = SingleLayer.dl4j(conf, params);
            INDArray epsilon = gaussian(
                    new Random(3),
                    1,
                    dl4j.activate(input.dup(), true, LayerWorkspaceMgr.noWorkspaces())
                            .shape());
            SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon);
            try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
                assertInstanceOf(ConvolutionTwin.class, twin.twin().compute());
                SingleLayer.Result actual = SingleLayer.run(twin, input.dup(), epsilon);
                Agreement.assertWithin(
                        "W",
                        expected.gradient().getGradientFor("W"),
                        actual.gradient().getGradientFor("W"),
                        1e-5);
            }
        }
    }

    @Test
    void copiesLargeWeightsThroughTheOrdersOfOtherPasses() {
        for (int channels : new int[] {32, 64, 80}) {
            ConvolutionLayer conf = new ConvolutionLayer.Builder(3, 3)
                    .convolutionMode(ConvolutionMode.Same)
                    .activation(Activation.IDENTITY)
                    .nIn(channels)
                    .nOut(2 * channels)
                    .build();
            TwinCheck.of(conf, ConvolutionTwin.class, new Random(channels))
                    .agrees(gaussian(new Random(channels), 1, 3, channels, 7, 7));
        }
    }

    @Property(tries = 40)
    void depthwise(@ForAll("cases") Case c) {
        // DL4J's own backward pass fails where the weights are a single number.
        boolean severalWeights =
                c.nIn() > 1 || c.nOut() % 3 > 0 || Arrays.stream(c.kernel(2)).anyMatch(size -> size > 1);
        Assume.that(severalWeights);
        DepthwiseConvolution2D conf = new DepthwiseConvolution2D.Builder(c.kernel(2), c.stride(2), c.padding(2))
                .depthMultiplier(1 + c.nOut() % 3)
                .dilation(c.dilation(2))
                .convolutionMode(c.mode())
                .nIn(c.nIn())
                .nOut(c.nIn() * (1 + c.nOut() % 3))
                .hasBias(c.bias())
                .activation(c.activation())
                .dataFormat(c.format())
                .build();
        c.check(conf).agrees(c.input(2));
    }

    @Property(tries = 30)
    void separable(@ForAll("cases") Case c) {
        // DL4J takes products of one channel for those of vectors, and fails.
        Assume.that(c.nIn() > 1 && c.nOut() > 1);
        SeparableConvolution2D conf = new SeparableConvolution2D.Builder(c.kernel(2), c.stride(2), c.padding(2))
                .depthMultiplier(1 + c.function() % 3)
                .dilation(c.dilation(2))
                .convolutionMode(c.mode())
                .nIn(c.nIn())
                .nOut(c.nOut())
                .hasBias(c.bias())
                .activation(Activation.IDENTITY)
                .dataFormat(c.format())
                .build();
        // What is between the two products is rounded, and so is its gradient.
        TwinCheck.of(conf, SeparableConvolutionTwin.class, c.random())
                .roundingOnTheWay(1)
                .roundingDelta(1)
                .agrees(c.input(2));
    }

    @Property(tries = 40)
    void spreadingOutImages(@ForAll("cases") Case c) {
        Assume.that(c.spreads(2));
        Deconvolution2D conf = c.on(2, new Deconvolution2D.Builder(c.kernel(2), c.stride(2), c.padding(2)))
                .dataFormat(c.format())
                .build();
        c.check(conf).agrees(c.input(2));
    }

    @Property(tries = 30)
    void spreadingOutVolumes(@ForAll("cases") Case c) {
        Assume.that(c.spreads(3));
        Deconvolution3D.Builder builder = new Deconvolution3D.Builder()
                .kernelSize(c.kernel(3))
                .stride(c.stride(3))
                .padding(c.padding(3));
        Deconvolution3D conf = c.on(3, builder).dataFormat(c.formatOfVolumes()).build();
        c.check(conf).inFloat().agrees(c.input(3));
    }
}
