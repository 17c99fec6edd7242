package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Convolutions of volumes, and deconvolutions, of all sizes that come along, against DL4J's own layers in FP32. Runs
 * with the Maven profile {@code fuzz}, for {@code -Damp.fuzz.seconds=...}, from {@code -Damp.fuzz.seed=...} on. A
 * failure names its seed; a run from that seed on repeats it.
 */
class ConvolutionFuzz {
    private static final Logger LOG = LoggerFactory.getLogger(ConvolutionFuzz.class);

    private static final List<Activation> FUNCTIONS = List.of(Activation.IDENTITY, Activation.RELU, Activation.TANH);

    /** A layer with an input for it. */
    private record Case(ConvolutionLayer layer, int roundings, INDArray input, INDArray params) {
        @Override
        public String toString() {
            return layer + " of " + Arrays.toString(input.shape());
        }
    }

    private static int between(Random random, int least, int most) {
        return least + random.nextInt(most - least + 1);
    }

    private static int[] numbers(Random random, int axes, int least, int most) {
        return random.ints(axes, least, most + 1).toArray();
    }

    private static Case draw(long seed) {
        Random random = new Random(seed);
        int kind = random.nextInt(3);
        int axes = kind == 1 ? 2 : 3;
        int largest = axes == 2 ? 7 : random.nextInt(4) == 0 ? 7 : 4;
        int[] kernel = numbers(random, axes, 1, largest);
        int[] stride = numbers(random, axes, 1, 3);
        int[] dilation = numbers(random, axes, 1, random.nextInt(3) == 0 ? 2 : 1);
        int[] padding = new int[axes];
        ConvolutionMode mode = random.nextBoolean() ? ConvolutionMode.Same : ConvolutionMode.Truncate;
        long[] extents = new long[axes];
        for (int axis = 0; axis < axes; axis++) {
            int window = (kernel[axis] - 1) * dilation[axis] + 1;
            padding[axis] = mode == ConvolutionMode.Truncate ? between(random, 0, Math.min(2, kernel[axis] - 1)) : 0;
            // Of volumes also those that are smaller than the window.
            extents[axis] = Math.max(1, window + between(random, mode == ConvolutionMode.Same ? -3 : 0, 5));
        }
        int nIn = between(random, 1, 40);
        int nOut = between(random, 1, 40);
        int function = random.nextInt(FUNCTIONS.size());
        ConvolutionLayer.BaseConvBuilder<?> builder =
                switch (kind) {
                    case 0 -> new Convolution3D.Builder(kernel, stride, padding);
                    case 1 -> new Deconvolution2D.Builder(kernel, stride, padding);
                    default ->
                        new Deconvolution3D.Builder()
                                .kernelSize(kernel)
                                .stride(stride)
                                .padding(padding);
                };
        ConvolutionLayer layer = builder.dilation(dilation)
                .convolutionMode(mode)
                .nIn(nIn)
                .nOut(nOut)
                .activation(FUNCTIONS.get(function))
                .build();
        long number = layer.initializer().numParams(layer);
        INDArray input = gaussian(random, 1, Workspaces.shape(between(random, 1, 3), nIn, extents));
        return new Case(layer, function == 2 ? 1 : 0, input, gaussian(random, 0.1, number));
    }

    /** DL4J rejects some that would fit, for it takes one axis for another. */
    private static boolean dl4jComputes(Case drawn) {
        try {
            org.deeplearning4j.nn.api.Layer layer = SingleLayer.dl4j(drawn.layer(), drawn.params());
            INDArray output = layer.activate(drawn.input().dup(), true, LayerWorkspaceMgr.noWorkspaces());
            SingleLayer.run(layer, drawn.input().dup(), output.dup());
            return true;
        } catch (RuntimeException e) {
            LOG.debug("DL4J rejects {}: {}", drawn, e.getMessage());
            return false;
        }
    }

    @Test
    void agreesWithDl4j() {
        long first = Long.getLong("amp.fuzz.seed", System.nanoTime());
        long end = System.nanoTime() + Integer.getInteger("amp.fuzz.seconds", 60) * 1_000_000_000L;
        LOG.info("amp.fuzz.seed={}", first);
        List<String> failures = new ArrayList<>();
        int computed = 0;
        long seed = first;
        for (; seed == first || System.nanoTime() < end; seed++) {
            Case drawn = draw(seed);
            boolean inFloat =
                    new OneDnnEngine().cannot(drawn.layer(), Precision.FLOAT).isEmpty();
            boolean inHalf =
                    new OneDnnEngine().cannot(drawn.layer(), Precision.BFLOAT16).isEmpty();
            if (!inFloat || !dl4jComputes(drawn)) {
                continue;
            }
            computed++;
            try {
                TwinCheck check = TwinCheck.of(drawn.layer(), ConvolutionTwin.class, new Random(seed))
                        .roundingDelta(drawn.roundings());
                (inHalf ? check : check.inFloat()).agrees(drawn.input());
            } catch (RuntimeException | AssertionError e) {
                LOG.warn("amp.fuzz.seed={} fails: {}: {}", seed, drawn, e.getMessage());
                failures.add("amp.fuzz.seed=" + seed + ": " + drawn + ": " + e.getMessage());
            }
        }
        LOG.info("{} of {} layers were compared", computed, seed - first);
        assertTrue(failures.isEmpty(), () -> failures.size() + " fail:\n" + String.join("\n", failures));
        assertTrue(computed > 0, "none was compared");
    }
}
