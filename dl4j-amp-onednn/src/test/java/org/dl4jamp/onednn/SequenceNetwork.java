package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.Random;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Small networks of sequences, each with one kind of layer of attention or of LSTM with peepholes in the middle. */
public enum SequenceNetwork {
    SELF_ATTENTION,
    SELF_ATTENTION_WITHOUT_PROJECTIONS,
    LEARNED_SELF_ATTENTION,
    RECURRENT_ATTENTION,
    ATTENTION_VERTEX,
    GRAVES_LSTM,
    GRAVES_BIDIRECTIONAL_LSTM;

    /** The name of the layer or vertex in the plan. */
    public static final String MIDDLE = "middle";

    private static final int FEATURES = 5;
    private static final int UNITS = 8;
    private static final int OUTPUTS = 3;
    private static final int STEPS = 6;

    /** Returns whether stock DL4J computes it: its learned attention fails. */
    public boolean isInStock() {
        return this != LEARNED_SELF_ATTENTION;
    }

    public boolean isGraph() {
        return this == ATTENTION_VERTEX;
    }

    /** Returns the layer in the middle; null for the vertex. */
    public Layer middle() {
        return middle(UNITS, 2);
    }

    /** Returns such a layer of another size. */
    public Layer middle(int units, int heads) {
        return switch (this) {
            case SELF_ATTENTION ->
                new SelfAttentionLayer.Builder()
                        .nOut(units)
                        .nHeads(heads)
                        .headSize(units / heads)
                        .projectInput(true)
                        .build();
            case SELF_ATTENTION_WITHOUT_PROJECTIONS ->
                new SelfAttentionLayer.Builder()
                        .nIn(units)
                        .nOut(units)
                        .nHeads(1)
                        .projectInput(false)
                        .build();
            case LEARNED_SELF_ATTENTION ->
                new LearnedSelfAttentionLayer.Builder()
                        .nOut(units)
                        .nHeads(heads)
                        .headSize(units / heads)
                        .nQueries(STEPS)
                        .projectInput(true)
                        .build();
            case RECURRENT_ATTENTION ->
                new RecurrentAttentionLayer.Builder()
                        .nOut(units)
                        .nHeads(heads)
                        .headSize(units / heads)
                        .projectInput(true)
                        .activation(Activation.TANH)
                        .build();
            case GRAVES_LSTM ->
                new GravesLSTM.Builder().nOut(units).activation(Activation.TANH).build();
            case GRAVES_BIDIRECTIONAL_LSTM ->
                new GravesBidirectionalLSTM.Builder()
                        .nOut(units)
                        .activation(Activation.TANH)
                        .build();
            case ATTENTION_VERTEX -> null;
        };
    }

    /** Returns a new network, always with the same parameters. */
    public Model make(IUpdater updater) {
        return make(updater, UnaryOperator.identity(), null);
    }

    /**
     * Returns a new network.
     *
     * @param wrapper of the layer in the middle
     * @param last dropout in front of the output layer; null for none
     */
    public Model make(IUpdater updater, UnaryOperator<Layer> wrapper, IDropout last) {
        LSTM front = new LSTM.Builder()
                .name("front")
                .nOut(UNITS)
                .activation(Activation.TANH)
                .build();
        RnnOutputLayer output = new RnnOutputLayer.Builder(LossFunction.MSE)
                .name("out")
                .nOut(OUTPUTS)
                .activation(Activation.IDENTITY)
                .dropOut(last)
                .build();
        NeuralNetConfiguration.Builder builder =
                new NeuralNetConfiguration.Builder().seed(7).updater(updater);
        if (isGraph()) {
            ComputationGraph graph = Networks.init(builder.graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.recurrent(FEATURES))
                    .addLayer("front", front, "in")
                    .addVertex(MIDDLE, Networks.attention(UNITS, UNITS, 2), "front", "front", "front")
                    .addLayer("out", output, MIDDLE)
                    .setOutputs("out")
                    .build());
            return graph;
        }
        Layer middle = middle();
        middle.setLayerName(MIDDLE);
        Layer wrapped = wrapper.apply(middle);
        wrapped.setLayerName(MIDDLE);
        MultiLayerNetwork network = Networks.init(builder.list()
                .layer(front)
                .layer(wrapped)
                .layer(output)
                .setInputType(InputType.recurrent(FEATURES))
                .build());
        return network;
    }

    /** Returns examples, some of which end early. */
    public static DataSet batch(int seed, int examples, boolean masked) {
        Random random = new Random(seed);
        INDArray features = gaussian(random, 1, examples, FEATURES, STEPS);
        INDArray labels = gaussian(random, 1, examples, OUTPUTS, STEPS);
        if (!masked) {
            return new DataSet(features, labels);
        }
        INDArray mask = Nd4j.ones(DataType.FLOAT, examples, STEPS);
        for (int example = 0; example < examples; example += 2) {
            mask.putScalar(example, STEPS - 1, 0);
        }
        return new DataSet(features, labels, mask, mask);
    }

    /** Returns the state of the updater of a network of either kind. */
    public static INDArray updaterState(Model model) {
        return model instanceof ComputationGraph graph
                ? graph.getUpdater().getStateViewArray()
                : ((MultiLayerNetwork) model).getUpdater().getStateViewArray();
    }
}
