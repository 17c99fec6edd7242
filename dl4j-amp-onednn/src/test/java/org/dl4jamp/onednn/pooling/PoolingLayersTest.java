package org.dl4jamp.onednn.pooling;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Assume;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.linear.ConvolutionLayersTest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Maxima and averages of windows agree with DL4J's layers on random shapes. */
class PoolingLayersTest {
    /**
     * A pooling to try.
     *
     * @param seed of its numbers
     * @param sizes kernel, stride and padding, for three axes each
     * @param mode what happens at the borders
     * @param maximum maximum, or average
     * @param batch minibatch
     * @param channels number of channels
     * @param last whether the channels are the last axis
     */
    record Case(
            long seed,
            List<Integer> sizes,
            ConvolutionMode mode,
            boolean maximum,
            int batch,
            int channels,
            boolean last) {
        int[] kernel(int axes) {
            return numbers(0, axes, 1, 3);
        }

        int[] stride(int axes) {
            return numbers(3, axes, 1, 3);
        }

        /** Never so much that a window covers nothing else. */
        int[] padding(int axes) {
            int[] padding = numbers(6, axes, 0, 1);
            for (int axis = 0; axis < axes; axis++) {
                boolean possible = mode != ConvolutionMode.Same && kernel(axes)[axis] > 1;
                padding[axis] = possible ? padding[axis] : 0;
            }
            return padding;
        }

        private int[] numbers(int from, int axes, int least, int most) {
            int[] values = new int[axes];
            for (int axis = 0; axis < axes; axis++) {
                values[axis] = least + sizes.get(from + axis) % (most - least + 1);
            }
            return values;
        }

        PoolingType type() {
            return maximum ? PoolingType.MAX : PoolingType.AVG;
        }

        /** Room for some steps. Without one between, DL4J's mode Same would start behind the first number. */
        long[] extents(int axes) {
            long[] extents = new long[axes];
            for (int axis = 0; axis < axes; axis++) {
                extents[axis] = kernel(axes)[axis] + (long) stride(axes)[axis] * (sizes.get(axis + 1) % 3);
            }
            return extents;
        }

        INDArray input(int axes) {
            INDArray input = distinct(new Random(seed), Workspaces.shape(batch, channels, extents(axes)));
            return last ? Workspaces.contiguous(input).dup('c') : input;
        }

        /** Gradients of overlapping maxima are added up in BFLOAT16: those of three windows along an axis at most. */
        TwinCheck check(org.deeplearning4j.nn.conf.layers.Layer conf, int axes) {
            return TwinCheck.of(conf, PoolingTwin.class, new Random(seed))
                    .roundingDelta(maximum ? Math.pow(3, axes) - 1 : 0);
        }
    }

    /** Numbers that differ, so that every maximum has one place. */
    private static INDArray distinct(Random random, long... shape) {
        INDArray array = gaussian(random, 1, shape);
        Assume.that(array.length() <= 32_000);
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < array.length(); i++) {
            order.add(i);
        }
        Collections.shuffle(order, random);
        for (int i = 0; i < array.length(); i++) {
            // LayerContexts in BFLOAT16, from one on.
            array.putScalar(
                    order.get(i), Float.intBitsToFloat(0x3f80_0000 + (i << 16) % 0x0800_0000) * (i % 2 == 0 ? 1 : -1));
        }
        return array;
    }

    @Provide
    Arbitrary<Case> cases() {
        return Combinators.combine(
                        Arbitraries.longs(),
                        Arbitraries.integers().between(0, 11).list().ofSize(9),
                        Arbitraries.of(ConvolutionMode.Same, ConvolutionMode.Truncate, ConvolutionMode.Strict),
                        Arbitraries.of(true, false),
                        Arbitraries.integers().between(1, 3),
                        Arbitraries.integers().between(1, 20),
                        Arbitraries.of(true, false))
                .as(Case::new);
    }

    @Property(tries = 60)
    void alongTwoAxes(@ForAll("cases") Case c, @ForAll boolean paddingCounts) {
        SubsamplingLayer conf = new SubsamplingLayer.Builder(c.type())
                .kernelSize(c.kernel(2))
                .stride(c.stride(2))
                .padding(c.padding(2))
                .convolutionMode(c.mode())
                .avgPoolIncludePadInDivisor(paddingCounts)
                .dataFormat(c.last() ? CNN2DFormat.NHWC : CNN2DFormat.NCHW)
                .build();
        c.check(conf, 2).agrees(c.input(2));
    }

    @Property(tries = 40)
    void alongSequences(@ForAll("cases") Case c, @ForAll boolean masked) {
        Subsampling1DLayer conf = new Subsampling1DLayer.Builder(c.type())
                .kernelSize(c.kernel(1)[0])
                .stride(c.stride(1)[0])
                .convolutionMode(c.mode())
                .build();
        INDArray input = distinct(new Random(c.seed()), Workspaces.shape(c.batch(), c.channels(), c.extents(1)));
        c.check(conf, 1)
                .masked(masked ? ConvolutionLayersTest.ending(c.batch(), input.size(2)) : null)
                .agrees(input);
    }

    @Property(tries = 40)
    void alongThreeAxes(@ForAll("cases") Case c) {
        // DL4J rejects some that would fit, for it takes one axis for another.
        Assume.that(c.mode() != ConvolutionMode.Strict);
        Subsampling3DLayer conf = new Subsampling3DLayer.Builder(c.type())
                .kernelSize(c.kernel(3))
                .stride(c.stride(3))
                .padding(c.padding(3))
                .convolutionMode(c.mode())
                .dataFormat(c.last() ? Convolution3D.DataFormat.NDHWC : Convolution3D.DataFormat.NCDHW)
                .build();
        c.check(conf, 3).agrees(c.input(3));
    }

    @Property(tries = 60)
    void global(@ForAll("cases") Case c, @ForAll @IntRange(min = 1, max = 3) int axes, @ForAll boolean collapse) {
        GlobalPoolingLayer conf =
                global(c.maximum() ? PoolingType.MAX : c.last() ? PoolingType.AVG : PoolingType.SUM, axes, c);
        conf.setCollapseDimensions(collapse || c.last());
        TwinCheck.of(conf, GlobalPoolingTwin.class, new Random(c.seed())).agrees(c.input(axes));
    }

    private static GlobalPoolingLayer global(PoolingType type, int axes, Case c) {
        int[] reduced = new int[axes];
        Arrays.setAll(reduced, axis -> axis + (c.last() ? 1 : 2));
        return new GlobalPoolingLayer.Builder(type).poolingDimensions(reduced).build();
    }

    @Property(tries = 20)
    void globalWithMask(@ForAll("cases") Case c, @ForAll boolean sum) {
        PoolingType type = c.maximum() ? PoolingType.MAX : sum ? PoolingType.SUM : PoolingType.AVG;
        INDArray sequences = distinct(new Random(c.seed()), Workspaces.shape(c.batch(), c.channels(), c.extents(1)));
        INDArray mask = ConvolutionLayersTest.ending(c.batch(), sequences.size(2));
        TwinCheck.of(new GlobalPoolingLayer(type), GlobalPoolingTwin.class, new Random(c.seed()))
                .masked(mask)
                .agrees(sequences);
        TwinCheck.of(new GlobalPoolingLayer(type), GlobalPoolingTwin.class, new Random(c.seed()))
                .masked(mask.reshape(c.batch(), 1, sequences.size(2), 1))
                .agrees(sequences.reshape(c.batch(), c.channels(), sequences.size(2), 1));
    }

    @Test
    void theBackwardPassIsThatOfTheLatestForwardPass() {
        MultiLayerNetwork own = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .list()
                .layer(new ConvolutionLayer.Builder(2, 2).nOut(5).build())
                .layer(new SubsamplingLayer.Builder(PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build())
                .layer(Networks.dense(4, Activation.TANH))
                .setInputType(InputType.convolutional(7, 7, 3))
                .build());
        MultiLayerNetwork network = own.clone();
        INDArray epsilon = gaussian(new Random(1), 1, 2, 4);
        try (MixedPrecision amp = MixedPrecision.enable(
                network,
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build())) {
            assertInstanceOf(
                    PoolingTwin.class,
                    ((TwinLayer) StandIn.behind(network.getLayer(1))).twin().compute(),
                    amp.plan().toString());
            for (boolean[] passes : new boolean[][] {{true}, {true, true}, {true, false}, {false}}) {
                List<INDArray> gradients = new ArrayList<>();
                for (MultiLayerNetwork one : List.of(own, network)) {
                    for (int i = 0; i < passes.length; i++) {
                        one.setInput(gaussian(new Random(i), 1, 2, 3, 7, 7));
                        one.feedForward(passes[i], false);
                    }
                    Pair<Gradient, INDArray> result = one.backpropGradient(epsilon, null);
                    gradients.add(result.getSecond());
                    gradients.add(result.getFirst().gradient().dup());
                }
                Agreement.assertWithin("gradient of the input", gradients.get(0), gradients.get(2), 1e-5);
                Agreement.assertWithin("gradients", gradients.get(1), gradients.get(3), 1e-5);
            }
        }
    }
}
