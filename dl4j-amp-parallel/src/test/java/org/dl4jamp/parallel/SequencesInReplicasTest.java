package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Attention and LSTMs with peepholes in replicas on oneDNN, against stock networks that are averaged by hand. */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SequencesInReplicasTest {
    private static final int FEATURES = 5;
    private static final int UNITS = 8;

    private static MultiLayerNetwork network() {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(3e-3))
                .list()
                .layer(new GravesLSTM.Builder()
                        .nOut(UNITS)
                        .activation(Activation.TANH)
                        .build())
                .layer(Networks.selfAttention(UNITS, UNITS, 2))
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.recurrent(FEATURES))
                .build());
    }

    private static List<DataSet> batches() {
        Nd4j.getRandom().setSeed(5);
        List<DataSet> batches = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            INDArray mask = Nd4j.ones(DataType.FLOAT, 4, 6);
            mask.putScalar(i % 4, 5, 0);
            batches.add(new DataSet(
                    Nd4j.randn(DataType.FLOAT, 4, FEATURES, 6), Nd4j.randn(DataType.FLOAT, 4, 2, 6), mask, mask));
        }
        return batches;
    }

    @Test
    void averagedReplicasAreStockNetworksAveragedByHand() throws Exception {
        MultiLayerNetwork net = network();
        MultiLayerNetwork first = network();
        MultiLayerNetwork second = network();
        List<DataSet> batches = batches();
        AmpConfig config =
                AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            wrapper.fit(Replicas.iterator(batches));
            for (ReplicaState state : amp.states()) {
                assertEquals("onednn", state.engine());
                assertEquals(4, state.stepsTaken(), state::toString);
            }
        }
        for (int i = 0; i < batches.size(); i += 2) {
            first.fit(batches.get(i));
            second.fit(batches.get(i + 1));
            average(first.params(), second.params());
            average(Replicas.updaterState(first), Replicas.updaterState(second));
        }
        assertArrayEquals(first.params().toFloatVector(), net.params().toFloatVector(), 1e-5f);
    }

    private static void average(INDArray one, INDArray other) {
        one.addi(other).muli(0.5);
        other.assign(one);
    }
}
