package org.dl4jamp;

import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * A network that has been trained for one step, with features and labels set, and what it can be called with.
 *
 * @param network a network of three layers, of which the second is named {@link #HIDDEN}
 * @param data a batch of six examples, with masks if they are sequences
 */
record Subject(Model network, DataSet data) {
    static final String FIRST = "first";
    static final String HIDDEN = "hidden";
    private static final int EXAMPLES = 6;
    private static final int FEATURES = 4;
    private static final int CLASSES = 2;
    private static final int STEPS = 5;

    /** One that was not trained yet. */
    static Subject of(boolean graph, boolean sequences) {
        Layer first = sequences
                ? new LSTM.Builder().nIn(FEATURES).nOut(6).build()
                : new AutoEncoder.Builder().nIn(FEATURES).nOut(6).build();
        Layer hidden = sequences ? new LSTM.Builder().nIn(6).nOut(8).build() : Networks.dense(8, Activation.TANH);
        Layer output = sequences
                ? new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(8)
                        .nOut(CLASSES)
                        .activation(Activation.SOFTMAX)
                        .build()
                : Networks.softmax(CLASSES);
        hidden.setLayerName(HIDDEN);
        InputType type = sequences ? InputType.recurrent(FEATURES, STEPS) : InputType.feedForward(FEATURES);
        NeuralNetConfiguration.Builder builder = new NeuralNetConfiguration.Builder()
                .seed(11)
                .updater(new Adam(1e-2))
                .l2(1e-3);
        Nd4j.getRandom().setSeed(5);
        DataSet data = sequences
                ? Networks.maskedSequences(EXAMPLES, FEATURES, CLASSES, STEPS)
                : Networks.vectors(EXAMPLES, FEATURES, CLASSES);
        data.setLabelNames(List.of("a", "b"));
        if (graph) {
            ComputationGraph network = Networks.init(builder.graphBuilder()
                    .addInputs("in")
                    .addLayer(FIRST, first, "in")
                    .addLayer(HIDDEN, hidden, FIRST)
                    .addLayer("out", output, HIDDEN)
                    .setOutputs("out")
                    .setInputTypes(type)
                    .build());
            return new Subject(network, data);
        }
        MultiLayerNetwork network = Networks.init(builder.list()
                .layer(first)
                .layer(hidden)
                .layer(output)
                .setInputType(type)
                .build());
        return new Subject(network, data);
    }

    /** Trains it for a step, and sets features and labels. */
    Subject prepared() {
        Nd4j.getRandom().setSeed(7);
        step();
        if (inputType() instanceof InputType.InputTypeRecurrent) {
            stepInTime();
        }
        if (isGraph()) {
            graph().setInput(0, features());
            graph().setLabel(0, labels());
        } else {
            layers().setInput(features());
            layers().setLabels(labels());
        }
        return this;
    }

    void step() {
        if (isGraph()) {
            graph().fit(data);
        } else {
            layers().fit(data);
        }
    }

    /** Returns what the next time steps give, as an array or several. */
    Object stepInTime() {
        return isGraph() ? graph().rnnTimeStep(features()) : layers().rnnTimeStep(features());
    }

    boolean isGraph() {
        return network instanceof ComputationGraph;
    }

    MultiLayerNetwork layers() {
        return (MultiLayerNetwork) network;
    }

    ComputationGraph graph() {
        return (ComputationGraph) network;
    }

    INDArray features() {
        return data.getFeatures().dup();
    }

    INDArray labels() {
        return data.getLabels().dup();
    }

    /** Of features and of labels; null if there is none. */
    INDArray mask() {
        return data.getFeaturesMaskArray() == null
                ? null
                : data.getFeaturesMaskArray().dup();
    }

    /** Returns what calls that take arrays take in this order: features, labels, and their masks. */
    INDArray array(int position) {
        return switch (position) {
            case 0 -> features();
            case 1 -> labels();
            default -> mask();
        };
    }

    InputType inputType() {
        return data.getFeatures().rank() == 3 ? InputType.recurrent(FEATURES, STEPS) : InputType.feedForward(FEATURES);
    }

    /** The name of the hidden layer's weights. */
    String parameter() {
        return (isGraph() ? HIDDEN : "1") + "_W";
    }

    /** A state of the hidden layer, if it is recurrent. */
    Map<String, INDArray> hiddenState() {
        return data.getFeatures().rank() == 3
                ? Map.of(
                        "prevAct",
                                Nd4j.linspace(-1, 1, EXAMPLES * 8)
                                        .castTo(Nd4j.dataType())
                                        .reshape(EXAMPLES, 8),
                        "prevMem",
                                Nd4j.linspace(1, -1, EXAMPLES * 8)
                                        .castTo(Nd4j.dataType())
                                        .reshape(EXAMPLES, 8))
                : Map.of();
    }
}
