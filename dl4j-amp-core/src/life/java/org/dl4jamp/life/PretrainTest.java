package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Layerwise pretraining, which is DL4J's in FP32, in the middle of supervised training in mixed precision. */
class PretrainTest {
    private static AutoEncoder autoEncoder() {
        return new AutoEncoder.Builder()
                .nOut(16)
                .corruptionLevel(0)
                .activation(Activation.TANH)
                .build();
    }

    private static Model network(Kind kind) {
        if (kind == Kind.MULTI_LAYER) {
            return Networks.init(Networks.builder(new Sgd(0.05))
                    .list()
                    .layer(autoEncoder())
                    .layer(Networks.dense(12, Activation.TANH))
                    .layer(Networks.softmax(3))
                    .setInputType(InputType.feedForward(20))
                    .build());
        }
        return Networks.init(Networks.builder(new Sgd(0.05))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.feedForward(20))
                .addLayer("encoder", autoEncoder(), "in")
                .addLayer("dense", Networks.dense(12, Activation.TANH), "encoder")
                .addLayer("out", Networks.softmax(3), "dense")
                .setOutputs("out")
                .build());
    }

    private static void pretrain(Model network) {
        if (network instanceof MultiLayerNetwork layers) {
            layers.pretrain(Kind.iterator());
        } else {
            ((ComputationGraph) network).pretrain(Kind.iterator());
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void pretrainingBetweenStepsOfTrainingLearnsWhatItLearnsInFp32(Kind kind, Side side) {
        Model fp32 = network(kind);
        Model mixed = network(kind);
        INDArray before = mixed.params().dup();
        MixedPrecision amp = side.enable(mixed);
        for (Model network : List.of(fp32, mixed)) {
            Kind.fit(network, Kind.data());
            for (int i = 0; i < 3; i++) {
                pretrain(network);
            }
        }
        side.assertLearnedAlike(before, fp32, mixed);
        INDArray pretrained = mixed.params().dup();
        fp32.setParams(pretrained.dup());
        for (int i = 0; i < 3; i++) {
            Kind.fit(fp32, Kind.data());
            Kind.fit(mixed, Kind.data());
        }
        assertEquals(4, amp.stepsTaken(), "pretraining isn't a step of the network's optimizer");
        side.assertLearnedAlike(pretrained, fp32, mixed);
    }
}
