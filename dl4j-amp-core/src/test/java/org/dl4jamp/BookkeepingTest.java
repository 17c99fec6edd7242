package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ops.executioner.OpExecutioner.ProfilingMode;
import org.nd4j.linalg.api.ops.impl.reduce.floating.Norm1;
import org.nd4j.linalg.api.ops.impl.reduce.floating.Norm2;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.profiler.OpProfiler;

/**
 * The overhead of mixed precision beside the layers' own computing, counted through ND4J's profiler and its list of
 * buffers to free.
 */
class BookkeepingTest {
    private static final DataSet DATA = Networks.vectors(32, 20, 3);

    private static MultiLayerNetwork network(int hiddenLayers) {
        NeuralNetConfiguration.ListBuilder list =
                Networks.builder(new Sgd(1e-3)).list();
        for (int i = 0; i < hiddenLayers; i++) {
            list.layer(Networks.dense(24, Activation.RELU));
        }
        return Networks.init(list.layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
    }

    /** ND4J's profiler fails on CUDA: it asks for addresses on the host, which arrays don't have there. */
    private static void assumeProfiler() {
        assumeTrue(Nd4j.getEnvironment().isCPU(), "ND4J's profiler runs on the CPU only");
    }

    private static void warmUp(MultiLayerNetwork network, DataSet data) {
        for (int i = 0; i < 4; i++) {
            network.fit(data);
        }
    }

    private static long operations(MultiLayerNetwork network) {
        assumeProfiler();
        warmUp(network, DATA);
        Nd4j.getExecutioner().setProfilingMode(ProfilingMode.OPERATIONS);
        try {
            OpProfiler.getInstance().reset();
            network.fit(DATA);
            return OpProfiler.getInstance().getInvocationsCount();
        } finally {
            Nd4j.getExecutioner().setProfilingMode(ProfilingMode.DISABLED);
        }
    }

    @Test
    void atMostEightOperationsPerStepBelongToNoLayer() {
        MultiLayerNetwork[] fp32 = {network(2), network(6)};
        MultiLayerNetwork[] half = {network(2), network(6)};
        for (MultiLayerNetwork network : half) {
            MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        }
        long perLayer = (operations(half[1]) - operations(half[0])) / 4;
        long perFp32Layer = (operations(fp32[1]) - operations(fp32[0])) / 4;
        long added = operations(half[0]) - operations(fp32[0]) - 2 * (perLayer - perFp32Layer);
        assertTrue(added > 0, "the check for finite gradients is there");
        assertTrue(added <= 8, () -> added + " operations belong to no layer");
    }

    @Test
    void onceInAStepTheHostReadsWhetherAllGradientsAreFinite() {
        MultiLayerNetwork network = network(4);
        MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        assertEquals(List.of(1, 0), passes(network));
    }

    @Test
    void aStepMeasuresTheNormInPlaceOfLookingForWhatIsntFiniteIfItsNeeded() {
        for (AmpConfig.Builder builder : List.of(
                AmpConfig.builder().clipGradientNorm(1), AmpConfig.builder().measureGradientNorm(true))) {
            MultiLayerNetwork network = network(4);
            MixedPrecision.enable(
                    network, builder.precision(Precision.HALF).engine("nd4j").build());
            assertEquals(List.of(0, 1), passes(network));
        }
    }

    /** Returns how often a step sums magnitudes, and how often squares. */
    private static List<Integer> passes(MultiLayerNetwork network) {
        assumeProfiler();
        warmUp(network, DATA);
        AtomicInteger checks = new AtomicInteger();
        AtomicInteger norms = new AtomicInteger();
        OpProfiler.OpProfilerListener listener = op -> {
            if (op instanceof Norm2) {
                norms.incrementAndGet();
            } else if (op instanceof Norm1) {
                checks.incrementAndGet();
            }
        };
        OpProfiler.getInstance().addListener(listener);
        Nd4j.getExecutioner().setProfilingMode(ProfilingMode.OPERATIONS);
        try {
            network.fit(DATA);
        } finally {
            Nd4j.getExecutioner().setProfilingMode(ProfilingMode.DISABLED);
            OpProfiler.getInstance().clearListener(listener);
        }
        return List.of(checks.get(), norms.get());
    }

    @Test
    void aStepOfAnMlpAllocatesNothingOutsideWorkspacesThatDl4jDoesNot() throws ReflectiveOperationException {
        assertAllocatesNoMore(network(3), DATA);
    }

    @Test
    void aStepOfACnnWithBatchNormAllocatesNothingOutsideWorkspacesThatDl4jDoesNot()
            throws ReflectiveOperationException {
        assertAllocatesNoMore(Networks.init(Networks.cnn()), Networks.images(8, 3, 12, 3));
    }

    @Test
    void aStepOfAnLstmAllocatesNothingOutsideWorkspacesThatDl4jDoesNot() throws ReflectiveOperationException {
        assertAllocatesNoMore(Networks.init(Networks.lstm()), Networks.maskedSequences(8, 5, 3, 7));
    }

    @Test
    void accumulationTakesOneArrayOfTheParametersSizeAndNothingInAStep() throws ReflectiveOperationException {
        MultiLayerNetwork network = network(3);
        MultiLayerNetwork each = network.clone();
        MixedPrecision.enable(each, Gradients.config(Precision.HALF));
        long expected = bytesOutsideWorkspaces(each, DATA);
        MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .accumulate(100)
                        .clipGradientNorm(1)
                        .build());
        warmUp(each, DATA);
        network.fit(DATA);
        long first = MemoryOutsideWorkspaces.arraysOf(network.numParams());
        warmUp(network, DATA);
        assertEquals(first, MemoryOutsideWorkspaces.arraysOf(network.numParams()), "arrays of the parameters' size");
        long actual = bytesOutsideWorkspaces(network, DATA);
        assertTrue(actual <= expected, () -> actual + " bytes outside workspaces, without accumulation " + expected);
    }

    private static void assertAllocatesNoMore(MultiLayerNetwork fp32, DataSet data)
            throws ReflectiveOperationException {
        MultiLayerNetwork half = fp32.clone();
        long expected = bytesOutsideWorkspaces(fp32, data);
        MixedPrecision.enable(half, Gradients.config(Precision.HALF));
        long actual = bytesOutsideWorkspaces(half, data);
        assertTrue(actual <= expected, () -> actual + " bytes outside workspaces, of which DL4J " + expected);
    }

    private static long bytesOutsideWorkspaces(MultiLayerNetwork network, DataSet data)
            throws ReflectiveOperationException {
        warmUp(network, data);
        return MemoryOutsideWorkspaces.bytesOf(() -> network.fit(data));
    }
}
