package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.PlantedOverflow;
import org.dl4jamp.Vanishing;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.listeners.SkipForensics;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** An overflow is found in whichever replica it happens, and the replicas heal for themselves. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ForensicsInReplicasTest {
    private static final List<DataSet> TRAIN = Replicas.batches(8, 32, 1);

    @ParameterizedTest
    @CsvSource({"AVERAGING, nd4j", "AVERAGING, onednn", "SHARED_GRADIENTS, nd4j", "SHARED_GRADIENTS, onednn"})
    void eachReplicasReportNamesTheLayer(TrainingMode mode, String engine) throws Exception {
        MultiLayerConfiguration planted = Replicas.layers();
        planted.getConf(3).getLayer().setIDropout(new PlantedOverflow());
        MultiLayerNetwork net = new MultiLayerNetwork(planted);
        net.init();
        SkipForensics forensics = new SkipForensics(2, 100);
        AmpConfig config = AmpConfig.builder()
                .engine(engine)
                .precision(engine.equals("nd4j") ? Precision.HALF : Precision.AUTO)
                .scaleSearch(0)
                .build();
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            wrapper.setListeners(forensics);
            wrapper.fit(Replicas.iterator(TRAIN));
            long skipped =
                    amp.states().stream().mapToLong(ReplicaState::stepsSkipped).sum();
            assertEquals(TRAIN.size(), skipped);
            List<SkipReport> reports = forensics.reports();
            assertEquals(skipped, reports.size());
            assertEquals(Set.of("layer2"), layers(reports));
        }
    }

    private static Set<String> layers(List<SkipReport> reports) {
        return reports.stream()
                .map(report -> report.origin().orElseThrow().layer())
                .collect(Collectors.toSet());
    }

    @ParameterizedTest
    @CsvSource({"AVERAGING", "SHARED_GRADIENTS"})
    void eachReplicaFindsItsScaleAndSkipsNone(TrainingMode mode) throws Exception {
        MultiLayerNetwork net = (MultiLayerNetwork) Replicas.initialized(false);
        AmpConfig config = AmpConfig.builder()
                .engine("nd4j")
                .precision(Precision.HALF)
                .lossScaler(DynamicLossScaler.builder().initialScale(0x1p24).build())
                .build();
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            wrapper.fit(Replicas.iterator(TRAIN));
            for (ReplicaState state : amp.states()) {
                assertEquals(0, state.stepsSkipped(), state::toString);
                assertEquals(4, state.stepsTaken(), state::toString);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"AVERAGING", "SHARED_GRADIENTS"})
    void eachReplicaHealsForItselfAndGoesOnHealed(TrainingMode mode) throws Exception {
        MultiLayerNetwork net = (MultiLayerNetwork) Replicas.initialized(false);
        net.getParam("2_W").muli(1e7);
        AmpConfig config = AmpConfig.builder()
                .engine("nd4j")
                .precision(Precision.HALF)
                .selfHealing(true)
                .build();
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            for (int fit = 1; fit <= 2; fit++) {
                wrapper.fit(Replicas.iterator(TRAIN));
                for (ReplicaState state : amp.states()) {
                    assertEquals(1, state.stepsSkipped(), state::toString);
                    assertEquals(4 * fit - 1, state.stepsTaken(), state::toString);
                    assertEquals(
                            "layer2",
                            state.state().config().rules().get(0).describe().replaceAll(".*Q|.E.*", ""));
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"AVERAGING", "SHARED_GRADIENTS"})
    void eachLayerOfEachReplicaHasItsScale(TrainingMode mode) throws Exception {
        MultiLayerNetwork net = new MultiLayerNetwork(Vanishing.in(Replicas.layers()));
        net.init();
        AmpConfig.Builder half =
                AmpConfig.builder().engine("nd4j").precision(Precision.HALF).lossScaler(new StaticLossScaler(1));
        INDArray fp32 = changeOfFirstWeights(net, mode, AmpConfig.builder().precision(Precision.FLOAT));
        double length = fp32.norm2Number().doubleValue();
        assertEquals(0, changeOfFirstWeights(net, mode, half).norm2Number().doubleValue(), 0.1 * length);
        INDArray scaled = changeOfFirstWeights(net, mode, half.layerScales(true));
        // Shared gradients are sent where they exceed a threshold, so a rounding may put one off.
        assertEquals(0, scaled.distance2(fp32), (mode == TrainingMode.AVERAGING ? 0.05 : 0.5) * length);
    }

    private static INDArray changeOfFirstWeights(MultiLayerNetwork net, TrainingMode mode, AmpConfig.Builder config)
            throws Exception {
        MultiLayerNetwork copy = net.clone();
        try (ParallelWrapper wrapper = Replicas.wrapper(copy, 2, mode);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config.build())) {
            wrapper.fit(Replicas.iterator(TRAIN));
            for (ReplicaState state : amp.states()) {
                assertEquals(4, state.stepsTaken(), state::toString);
            }
        }
        return copy.getParam("0_W").sub(net.getParam("0_W"));
    }
}
