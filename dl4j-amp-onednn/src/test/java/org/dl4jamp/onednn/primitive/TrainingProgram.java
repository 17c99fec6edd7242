package org.dl4jamp.onednn.primitive;

import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** A user's program, for other JVMs: trains with what AUTO finds, with the engine by name, and with AUTO again. */
final class TrainingProgram {
    private TrainingProgram() {}

    /** Runs it. */
    public static void main(String[] arguments) {
        train(AmpConfig.builder().build());
        train(AmpConfig.builder().engine(OneDnnEngine.NAME).build());
        train(AmpConfig.builder().precision(Precision.BFLOAT16).build());
    }

    private static void train(AmpConfig config) {
        MultiLayerNetwork net = Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(new DenseLayer.Builder()
                        .nIn(4)
                        .nOut(8)
                        .activation(Activation.TANH)
                        .build())
                .layer(Networks.regression(2))
                .build());
        INDArray features = Nd4j.linspace(DataType.FLOAT, -1, 0.0625, 32).reshape(8, 4);
        DataSet batch = new DataSet(features, Nd4j.ones(DataType.FLOAT, 8, 2));
        double before = net.score(batch);
        try (MixedPrecision amp = MixedPrecision.enable(net, config)) {
            for (int i = 0; i < 20; i++) {
                net.fit(batch);
            }
            System.out.println(
                    "engine " + amp.engine() + ", " + amp.precision() + ", learns: " + (net.score(batch) < before / 2));
        } catch (AmpException e) {
            System.out.println("refused: " + e.getMessage());
        }
    }
}
