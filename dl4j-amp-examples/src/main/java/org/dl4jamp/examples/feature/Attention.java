package org.dl4jamp.examples.feature;

import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** A sequence shows keys with a value each, and at its end one key again. The answer is the value of that key. */
final class Attention implements Example {
    private static final int KEYS = 6;
    private static final int VALUES = 4;

    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        report.atLeast("right answers to new questions, FP32", learned(network(true)), 0.95);
        MultiLayerNetwork net = network(true);
        MixedPrecision amp = MixedPrecision.enable(net, settings.build());
        report.say(amp.plan().toString());
        report.atLeast("right answers to new questions, mixed precision", learned(net), 0.95);
        report.atMost("right answers without attention", learned(network(false)), 0.5);
    }

    private static MultiLayerNetwork network(boolean attends) {
        Layer first = attends
                ? new SelfAttentionLayer.Builder()
                        .nOut(32)
                        .nHeads(2)
                        .projectInput(true)
                        .build()
                : new Convolution1DLayer.Builder(1).nOut(32).build();
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Adam(1e-2))
                .list(first, new RnnOutputLayer.Builder().nOut(VALUES).build())
                .setInputType(InputType.recurrent(KEYS + VALUES))
                .build());
        net.init();
        return net;
    }

    /** Trains a network and returns the fraction of other questions that it answers. */
    private static double learned(MultiLayerNetwork net) {
        Random random = new Random(1);
        for (int i = 0; i < 120; i++) {
            net.fit(questions(64, random));
        }
        DataSet others = questions(1000, random);
        return net.evaluate(new SingletonDataSetIterator(others)).accuracy();
    }

    private static DataSet questions(int count, Random random) {
        float[][][] steps = new float[count][KEYS + VALUES][KEYS + 1];
        float[][][] answers = new float[count][VALUES][KEYS + 1];
        float[][] mask = new float[count][KEYS + 1];
        for (int i = 0; i < count; i++) {
            int first = random.nextInt(KEYS);
            int[] values = random.ints(KEYS, 0, VALUES).toArray();
            for (int step = 0; step < KEYS; step++) {
                steps[i][(first + step) % KEYS][step] = 1;
                steps[i][KEYS + values[step]][step] = 1;
            }
            int asked = random.nextInt(KEYS);
            steps[i][(first + asked) % KEYS][KEYS] = 1;
            answers[i][values[asked]][KEYS] = 1;
            mask[i][KEYS] = 1;
        }
        return new DataSet(
                Nd4j.createFromArray(steps), Nd4j.createFromArray(answers), null, Nd4j.createFromArray(mask));
    }
}
