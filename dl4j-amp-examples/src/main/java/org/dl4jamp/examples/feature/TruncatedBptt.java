package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Learns the sign of the input three steps ago, with sequences of 40 steps in segments of 10: state and loss scale go
 * from segment to segment.
 */
final class TruncatedBptt implements Example {
    private static final int LAG = 3;

    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Adam(1e-2))
                .list()
                .layer(new LSTM.Builder().nOut(24).activation(Activation.TANH).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.XENT)
                        .nOut(1)
                        .activation(Activation.SIGMOID)
                        .build())
                .setInputType(InputType.recurrent(1))
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(10)
                .build());
        net.init();
        Nd4j.getRandom().setSeed(3);

        MixedPrecision amp = MixedPrecision.enable(net, settings.build());
        for (int i = 0; i < 40; i++) {
            net.fit(sequences(32, 40));
        }

        DataSet others = sequences(50, 20);
        double right = 0;
        net.rnnClearPreviousState();
        for (int t = 0; t < 20; t++) {
            INDArray said = net.rnnTimeStep(
                    others.getFeatures().tensorAlongDimension(t, 0, 1).dup());
            INDArray wanted = others.getLabels().tensorAlongDimension(t, 0, 1);
            right += t < LAG
                    ? 0
                    : said.gt(0.5)
                            .eq(wanted.gt(0.5))
                            .castTo(DataType.FLOAT)
                            .sumNumber()
                            .doubleValue();
        }
        report.is("steps, four for each sequence", amp.stepsTaken() + amp.stepsSkipped(), 160);
        report.atLeast("right, one time step at a time", right / (50 * (20 - LAG)), 0.9);
    }

    private static DataSet sequences(int examples, int steps) {
        INDArray features = Nd4j.randn(DataType.FLOAT, examples, 1, steps);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, examples, 1, steps);
        for (int i = 0; i < examples; i++) {
            for (int t = LAG; t < steps; t++) {
                labels.putScalar(i, 0, t, features.getFloat(i, 0, t - LAG) > 0 ? 1 : 0);
            }
        }
        return new DataSet(features, labels);
    }
}
