package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.RareLayers;
import org.dl4jamp.onednn.RefusingEngine;
import org.dl4jamp.onednn.user.SquaredRelu;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/**
 * Layers that few networks have, in replicas on oneDNN, against stock networks that are averaged by hand. The second
 * replica skips a batch whose gradient isn't finite, which the stock network doesn't get.
 */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RareLayersInReplicasTest {
    private static final int EXAMPLES = 5;
    private static final int BATCHES = 8;
    private static final int BROKEN = 3;

    @ParameterizedTest
    @EnumSource
    void averagedReplicasAreStockNetworksAveragedByHand(RareLayers rare) throws Exception {
        AmpConfig config = config("onednn");
        assertEachLayerHasAKernel(rare, config);
        int passes = SquaredRelu.Kernel.PASSES.get();
        assertAreAveragedByHand(rare, config);
        assertEquals(rare == RareLayers.OWN, SquaredRelu.Kernel.PASSES.get() > passes);
    }

    /** DL4J's layers compute in the middle of a replica's step, in the first one and in those after it. */
    @ParameterizedTest
    @EnumSource
    void soTheyAreWhereOneDnnRefusesEveryThirdKernel(RareLayers rare, @TempDir Path folder) throws IOException {
        AtomicInteger refused = RefusingEngine.refuseEveryThird();
        RefusingEngine.whileFound(folder, () -> assertAreAveragedByHand(rare, config(RefusingEngine.NAME)));
        assertTrue(refused.get() > 1, refused::toString);
    }

    private static AmpConfig config(String engine) {
        return AmpConfig.builder().engine(engine).precision(Precision.FLOAT).build();
    }

    private static void assertAreAveragedByHand(RareLayers rare, AmpConfig config) {
        MultiLayerNetwork net = Networks.init(rare.network());
        List<DataSet> batches = new ArrayList<>();
        for (int i = 0; i < BATCHES; i++) {
            batches.add(i == BROKEN ? rare.brokenBatch(EXAMPLES, i) : rare.batch(EXAMPLES, i));
        }
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            wrapper.fit(Replicas.iterator(batches));
            for (ReplicaState state : amp.states()) {
                assertEquals(config.engine(), state.engine());
                assertEquals(BATCHES / 2, state.stepsTaken() + state.stepsSkipped(), state::toString);
            }
            assertEquals(
                    List.of(0L, 1L),
                    amp.states().stream().map(ReplicaState::stepsSkipped).toList());
        } catch (Exception e) {
            throw new AssertionError(e);
        }
        INDArray expected = averagedByHand(rare, batches);
        double error = expected.distance2(net.params());
        double most = 1e-5 * expected.norm2Number().doubleValue();
        assertTrue(error <= most, () -> error + " beside " + most);
    }

    private static void assertEachLayerHasAKernel(RareLayers rare, AmpConfig config) {
        try (MixedPrecision amp = MixedPrecision.enable(Networks.init(rare.network()), config)) {
            amp.plan().rows().forEach(row -> assertEquals("onednn", row.engine(), row::toString));
        }
    }

    private static INDArray averagedByHand(RareLayers rare, List<DataSet> batches) {
        List<MultiLayerNetwork> stock = List.of(Networks.init(rare.network()), Networks.init(rare.network()));
        for (int i = 0; i < batches.size(); i++) {
            if (i != BROKEN) {
                stock.get(i % 2).fit(batches.get(i));
            }
            if (i % 2 == 1) {
                average(stock.get(0).params(), stock.get(1).params());
                average(Replicas.updaterState(stock.get(0)), Replicas.updaterState(stock.get(1)));
            }
        }
        return stock.get(0).params();
    }

    private static void average(INDArray one, INDArray other) {
        one.addi(other).muli(0.5);
        other.assign(one);
    }
}
