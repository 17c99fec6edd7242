package org.dl4jamp.life;

import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.junit.jupiter.params.provider.Arguments;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.learning.config.Nesterovs;

/**
 * DL4J's two kinds of network, of which each makes the same network in every call: 20 features, three hidden layers, 3
 * classes.
 */
enum Kind {
    MULTI_LAYER {
        @Override
        MultiLayerNetwork network() {
            return Networks.init(Networks.builder(new Nesterovs(0.05, 0.9))
                    .list()
                    .layer(Networks.dense(32, Activation.TANH))
                    .layer(Networks.dense(24, Activation.RELU))
                    .layer(Networks.dense(24, Activation.TANH))
                    .layer(Networks.softmax(3))
                    .setInputType(InputType.feedForward(20))
                    .build());
        }
    },
    GRAPH {
        @Override
        ComputationGraph network() {
            return Networks.init(Networks.branches(
                    new Nesterovs(0.05, 0.9),
                    Networks.dense(32, Activation.TANH),
                    Networks.dense(24, Activation.RELU),
                    Networks.dense(12, Activation.TANH)));
        }
    };

    /** The network, initialized. Not a clone: that would share its updaters' settings. */
    abstract Model network();

    static Stream<Kind> all() {
        return Stream.of(values());
    }

    /** Each kind on each side. */
    static Stream<Arguments> everywhere() {
        return all().flatMap(kind -> Side.here().map(side -> Arguments.of(kind, side)));
    }

    static DataSet data() {
        return Networks.vectors(48, 20, 3);
    }

    static void fit(Model network, DataSet data) {
        Networks.fit(network, data);
    }

    static void fit(Model network, DataSetIterator data, int epochs) {
        if (network instanceof MultiLayerNetwork layers) {
            layers.fit(data, epochs);
        } else {
            ((ComputationGraph) network).fit(data, epochs);
        }
    }

    static INDArray output(Model network, INDArray features) {
        return network instanceof MultiLayerNetwork layers
                ? layers.output(features)
                : ((ComputationGraph) network).outputSingle(features);
    }

    static void setLearningRate(Model network, double rate) {
        if (network instanceof MultiLayerNetwork layers) {
            layers.setLearningRate(rate);
        } else {
            ((ComputationGraph) network).setLearningRate(rate);
        }
    }

    static DataSetIterator iterator() {
        return new SingletonDataSetIterator(data());
    }
}
