package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Memory of a network in inference mode, and its release. */
class InferenceMemoryTest {
    private static final int LIVES = 50;

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static INDArray images(int examples) {
        return gaussian(new Random(examples), 1, examples, 3, 16, 16);
    }

    /** Returns how much more is held after a network has inferred batches of some sizes. */
    private static long heldAfter(ComputationGraph network, Precision precision, int from, int to) {
        long before = AlignedMemory.held();
        long held;
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            for (int examples = from; examples <= to; examples++) {
                network.outputSingle(images(examples));
            }
            held = AlignedMemory.held() - before;
            assertEquals("onednn", mode.engine());
        }
        assertEquals(before, AlignedMemory.held(), "all is given back");
        return held;
    }

    /**
     * A copy of the weights serves all shapes whose primitives read the same order. That order depends on the
     * instruction set, too.
     */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void sixteenBatchSizesTakeAtMostOneMoreCopyOfTheWeightsThanTheLargest(Precision precision) {
        ComputationGraph network = ResidualNetwork.init();
        long weights = network.numParams() * (precision == Precision.FLOAT ? 4L : 2L);
        long one = heldAfter(network, precision, 16, 16);
        long all = heldAfter(network, precision, 1, 16);
        assertTrue(one > 0);
        assertTrue(
                all <= 1.1 * (one + weights),
                () -> all + " bytes for 16 batch sizes, " + one + " for one, weights take " + weights);
    }

    private static MultiLayerNetwork dense(int seed) {
        return Networks.init(Networks.builder(new Sgd(1e-3))
                .seed(seed)
                .list()
                .layer(new DenseLayer.Builder()
                        .nIn(300)
                        .nOut(200)
                        .activation(Activation.RELU)
                        .build())
                .layer(new OutputLayer.Builder()
                        .nOut(17)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build());
    }

    private static INDArray rows(int examples) {
        return gaussian(new Random(examples), 1, examples, 300);
    }

    /** Single examples are multiplied by weights in another order than batches are. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void denseLayersHaveCurrentWeightsForEachBatchSize(Precision precision) {
        MultiLayerNetwork network = dense(1);
        MultiLayerNetwork stock = dense(1);
        MultiLayerNetwork other = dense(2);
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            assertInfersLike(stock, network, precision);
            network.setParams(other.params().dup());
            assertInfersLike(other, network, precision);
            network.params().assign(stock.params());
            mode.refresh();
            assertInfersLike(stock, network, precision);
        }
    }

    private static void assertInfersLike(MultiLayerNetwork stock, MultiLayerNetwork network, Precision precision) {
        for (int examples : new int[] {1, 2, 7, 64, 1}) {
            INDArray expected = stock.output(rows(examples));
            INDArray actual = network.output(rows(examples));
            if (precision == Precision.FLOAT) {
                Agreement.assertRoundedOnce(examples + " examples", expected, actual);
            } else {
                double off = expected.sub(actual).amaxNumber().doubleValue();
                assertTrue(off < 0.02, () -> examples + " examples: probabilities off by " + off);
            }
        }
    }

    /** In FP32 single examples are multiplied by the parameters themselves, and in BFLOAT16 by a copy. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void denseLayersKeepOneCopyForAllBatches(Precision precision) {
        MultiLayerNetwork network = dense(1);
        long before = AlignedMemory.held();
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            network.output(rows(64));
            long batch = AlignedMemory.held() - before;
            for (int examples = 2; examples < 16; examples++) {
                network.output(rows(examples));
            }
            assertEquals(batch, AlignedMemory.held() - before, () -> mode.plan().toString());
            network.output(rows(1));
            long single = AlignedMemory.held() - before - batch;
            long weights = network.numParams()
                    * (precision == Precision.FLOAT ? 0 : Types.half().width());
            assertTrue(single <= weights, () -> single + " bytes more for single examples");
        }
        assertEquals(before, AlignedMemory.held(), "all is given back");
    }

    /** The memory of the process, as the system counts it. */
    private static long residentBytes() {
        try {
            List<String> lines = Files.readAllLines(Path.of("/proc/self/status"));
            return lines.stream()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Its weights are copied in each precision and order: 17 MB of BFLOAT16 in each life. */
    @Test
    void fiftyLivesTakeTheMemoryOfOne() {
        Assumptions.assumeTrue(Files.exists(Path.of("/proc/self/status")), "Linux says how much a process has");
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(1024).build())
                .layer(Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(1024))
                .build());
        INDArray features = gaussian(new Random(1), 1, 1, 1024, 1);
        long held = AlignedMemory.held();
        long copy = network.getLayer(0).numParams() * Types.half().width();
        long resident = 0;
        for (int life = 0; life < LIVES; life++) {
            try (InferenceMode mode = MixedPrecision.inference(network, config(Types.halfPrecision()))) {
                network.output(features);
                assertTrue(
                        AlignedMemory.held() >= held + copy, () -> mode.plan().toString());
            }
            assertEquals(held, AlignedMemory.held());
            if (life == LIVES / 5) {
                resident = residentBytes();
            }
        }
        long growth = residentBytes() - resident;
        // Java's heap grows a bit on the way.
        assertTrue(
                growth < LIVES / 4 * copy,
                () -> growth + " bytes more in the process after 40 more lives, of copies of " + copy + " bytes");
    }
}
