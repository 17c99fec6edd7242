package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Losses with and without parameters in replicas on oneDNN, against stock networks that are averaged by hand. */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LossesInReplicasTest {
    private static final int EXAMPLES = 4;
    private static final int CLASSES = 3;
    private static final int CELLS = 4;

    enum Loss {
        ROWS,
        CENTERS,
        BOXES;

        private InputType input() {
            return this == BOXES ? InputType.convolutional(CELLS, CELLS, 2) : InputType.feedForward(5);
        }

        private Layer hidden() {
            return this == BOXES
                    ? new ConvolutionLayer.Builder(1, 1)
                            .nOut(2 * (5 + CLASSES))
                            .activation(Activation.IDENTITY)
                            .build()
                    : Networks.dense(CLASSES, Activation.IDENTITY);
        }

        private Layer layer() {
            return switch (this) {
                case ROWS ->
                    new LossLayer.Builder(LossFunction.MCXENT)
                            .activation(Activation.SOFTMAX)
                            .build();
                case CENTERS ->
                    new CenterLossOutputLayer.Builder(LossFunction.MCXENT)
                            .alpha(0.2)
                            .lambda(0.1)
                            .nOut(CLASSES)
                            .activation(Activation.SOFTMAX)
                            .build();
                case BOXES ->
                    new Yolo2OutputLayer.Builder()
                            .boundingBoxPriors(Nd4j.createFromArray(new float[][] {{1, 1.5f}, {2, 1}}))
                            .build();
            };
        }

        private MultiLayerNetwork network() {
            return Networks.init(new NeuralNetConfiguration.Builder()
                    .seed(1)
                    .updater(new Sgd(0.05))
                    .list()
                    .layer(hidden())
                    .layer(layer())
                    .setInputType(input())
                    .build());
        }

        private List<DataSet> batches() {
            Random random = new Random(5);
            List<DataSet> batches = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Nd4j.getRandom().setSeed(i + 1);
                batches.add(
                        this == BOXES
                                ? new DataSet(Nd4j.randn(DataType.FLOAT, EXAMPLES, 2, CELLS, CELLS), boxes(random))
                                : new DataSet(
                                        Nd4j.randn(DataType.FLOAT, EXAMPLES, 5), Networks.oneHot(EXAMPLES, CLASSES)));
            }
            return batches;
        }

        private static INDArray boxes(Random random) {
            INDArray labels = Nd4j.zeros(DataType.FLOAT, EXAMPLES, 4 + CLASSES, CELLS, CELLS);
            for (int i = 0; i < EXAMPLES; i++) {
                int cell = random.nextInt(CELLS - 1);
                for (int corner = 0; corner < 4; corner++) {
                    double place = cell + 0.3 + (corner < 2 ? -0.6 : 0.9);
                    labels.putScalar(new int[] {i, corner, cell, cell}, place);
                }
                labels.putScalar(new int[] {i, 4 + random.nextInt(CLASSES), cell, cell}, 1);
            }
            return labels;
        }
    }

    @ParameterizedTest
    @EnumSource
    void averagedReplicasAreStockNetworksAveragedByHand(Loss loss) throws Exception {
        MultiLayerNetwork net = loss.network();
        MultiLayerNetwork first = loss.network();
        MultiLayerNetwork second = loss.network();
        List<DataSet> batches = loss.batches();
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
            first.params().addi(second.params()).muli(0.5);
            second.params().assign(first.params());
        }
        assertArrayEquals(first.params().toFloatVector(), net.params().toFloatVector(), 1e-5f);
    }
}
